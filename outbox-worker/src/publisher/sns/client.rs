//! The client that the publisher is meant to have.

use std::time::Duration;

use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_sns::Client;
use aws_sdk_sns::config::retry::RetryConfig;
use aws_sdk_sns::config::timeout::TimeoutConfig;
use aws_sdk_sns::config::{
    Builder, IdentityCache, RuntimeComponents, SharedHttpClient, StalledStreamProtectionConfig,
};
use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};

use super::error::SnsConfigError;

/// Shorter than what load balancers and address translation keep a silent connection.
const IDLE_CONNECTION: Duration = Duration::from_secs(20);
const IDLE_CONNECTIONS: usize = 64;

/// How long each part of a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientTimeouts {
    /// Making a connection. Default: 2 s.
    pub connect: Duration,
    /// One request, credentials and connection included. Default: 6 s.
    pub attempt: Duration,
    /// One call. Default: 8 s.
    pub operation: Duration,
}

impl Default for ClientTimeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(2),
            attempt: Duration::from_secs(6),
            operation: Duration::from_secs(8),
        }
    }
}

/// A client from what the AWS SDKs agree on: environment, profile files, container and instance
/// roles, `AWS_ENDPOINT_URL_SNS`, proxies.
///
/// Credentials are loaded at the first call, so wrong ones do not show here.
///
/// # Errors
/// [`SnsConfigError::RegionMissing`] if none of these names a region.
pub async fn client_from_env(timeouts: ClientTimeouts) -> Result<Client, SnsConfigError> {
    let config = aws_config::defaults(BehaviorVersion::v2026_01_12())
        .http_client(http_client())
        .load()
        .await;
    client(&config, timeouts)
}

/// A client with the account, region, credentials and endpoint of this configuration.
///
/// It makes one attempt per call, because retrying is the dispatcher's; it has a limit for every
/// wait, because the SDK has none against a silent server; and its behaviour is pinned, so that an
/// update of the SDK does not change it.
///
/// # Errors
/// [`SnsConfigError::RegionMissing`] if the configuration has no region.
pub fn client(config: &SdkConfig, timeouts: ClientTimeouts) -> Result<Client, SnsConfigError> {
    if config.region().is_none_or(|region| region.as_ref().is_empty()) {
        return Err(SnsConfigError::RegionMissing);
    }
    let limits = TimeoutConfig::builder()
        .connect_timeout(timeouts.connect)
        .operation_attempt_timeout(timeouts.attempt)
        .operation_timeout(timeouts.operation)
        .build();
    // Below the attempt's: a wait for credentials must end as a fault of the credentials, not as
    // an answer that never came.
    let credentials = IdentityCache::lazy().load_timeout(timeouts.attempt.mul_f64(0.75)).build();
    let config = Builder::from(config)
        .behavior_version(BehaviorVersion::v2026_01_12())
        .http_client(http_client())
        .retry_config(RetryConfig::standard().with_max_attempts(1))
        .timeout_config(limits)
        .identity_cache(credentials)
        // Requests and answers are small: the limit of an attempt is enough.
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .build();
    Ok(Client::from_conf(config))
}

/// HTTP over rustls with ring. Like the SDK's own client it obeys `HTTPS_PROXY` and `NO_PROXY`.
fn http_client() -> SharedHttpClient {
    aws_smithy_http_client::Builder::new().build_with_connector_fn(|settings, components| {
        let mut connector = aws_smithy_http_client::Connector::builder()
            .tls_provider(Provider::Rustls(CryptoMode::Ring))
            .proxy_config(ProxyConfig::from_env())
            .pool_idle_timeout(IDLE_CONNECTION)
            .pool_max_idle_per_host(IDLE_CONNECTIONS);
        connector.set_connector_settings(settings.cloned());
        connector.set_sleep_impl(components.and_then(RuntimeComponents::sleep_impl));
        connector.build()
    })
}
