//! The SNS stub, driven by the unmodified SDK client.

mod answers;
mod batch;
mod batch_rules;
mod fifo;
mod hold;
mod lifecycle;
mod lost_answers;
mod malformed;
mod publish;
mod publish_rules;
mod refusals;
mod signer;
mod topics;

use std::fmt::Debug;
use std::time::Duration;

use aws_sdk_sns::Client;
use aws_sdk_sns::config::retry::RetryConfig;
use aws_sdk_sns::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_sns::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sns::types::{MessageAttributeValue, PublishBatchRequestEntry};
use aws_smithy_http_client::Builder as HttpClient;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use outbox_testing::sns::SnsStub;

/// A stub, the SDK's client for it, and the ARN of its topic `orders`.
struct Peer {
    stub: SnsStub,
    client: Client,
    topic: String,
}

impl Peer {
    async fn start() -> Self {
        Self::of(SnsStub::builder().topic("orders").start().await.unwrap())
    }

    fn of(stub: SnsStub) -> Self {
        Self { client: client(&stub, "test"), topic: stub.topic_arn("orders"), stub }
    }

    fn publish(
        &self,
        message: impl Into<String>,
    ) -> aws_sdk_sns::operation::publish::builders::PublishFluentBuilder {
        self.client.publish().topic_arn(&self.topic).message(message)
    }

    fn batch(
        &self,
        entries: impl IntoIterator<Item = PublishBatchRequestEntry>,
    ) -> aws_sdk_sns::operation::publish_batch::builders::PublishBatchFluentBuilder {
        self.client
            .publish_batch()
            .topic_arn(&self.topic)
            .set_publish_batch_request_entries(Some(entries.into_iter().collect()))
    }
}

/// One attempt per call, so that every request of a test is the test's own.
fn client(stub: &SnsStub, access_key_id: &str) -> Client {
    let http = HttpClient::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https();
    let config = aws_sdk_sns::Config::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::new("us-east-1"))
        .endpoint_url(stub.endpoint_url())
        .credentials_provider(Credentials::new(access_key_id, "secret", None, None, "test"))
        .retry_config(RetryConfig::disabled())
        .http_client(http)
        .build();
    Client::from_conf(config)
}

fn text(value: &str) -> MessageAttributeValue {
    attribute("String", value)
}

fn attribute(data_type: &str, value: &str) -> MessageAttributeValue {
    MessageAttributeValue::builder().data_type(data_type).string_value(value).build().unwrap()
}

fn entry(id: &str, message: &str) -> PublishBatchRequestEntry {
    PublishBatchRequestEntry::builder().id(id).message(message).build().unwrap()
}

/// HTTP status and wire code of a refused call.
fn refusal<T: Debug, E>(answer: Result<T, SdkError<E>>) -> (u16, String)
where
    E: ProvideErrorMetadata + Debug,
{
    let error = answer.expect_err("the call must be refused");
    let status = error.raw_response().expect("an answer must have come").status().as_u16();
    (status, error.code().unwrap_or_default().to_owned())
}

fn refused(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

/// Fails instead of waiting for ever for something that does not happen.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("must happen soon")
}
