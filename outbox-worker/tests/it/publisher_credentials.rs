//! What the SNS publisher says when credentials cannot be had.

use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider, future};
use aws_sdk_sns::error::{BoxError, ErrorMetadata};
use outbox_core::{Failure, Publisher};
use outbox_worker::publisher::sns::{ClientTimeouts, SnsPublisher, client};

use crate::publisher_endpoint::{HASTY, PATIENT, config, stub, topics};
use crate::publisher_fixture::{numbered, words};

pub(crate) const NO_CREDENTIALS: &str = "no AWS credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a \
     profile, or give the host a role";

/// Fails or hangs where credentials should come from.
#[derive(Debug)]
enum Provider {
    Absent,
    Broken,
    Refused,
    RoleWithoutSource,
    Silent,
    Unreachable,
}

impl ProvideCredentials for Provider {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        let error = match self {
            Self::Absent => CredentialsError::not_loaded("none"),
            Self::Broken => {
                let cause = BoxError::from("the metadata service said 500");
                CredentialsError::provider_error(cause)
            }
            Self::Refused => {
                let text = "The request signature does not match.\n\nx-amz-security-token:IQoJb3";
                CredentialsError::provider_error(ErrorMetadata::builder().message(text).build())
            }
            Self::RoleWithoutSource => {
                CredentialsError::provider_error(CredentialsError::not_loaded("none"))
            }
            Self::Unreachable => {
                let cause = BoxError::from("client error (Connect): connection refused");
                CredentialsError::provider_error(cause)
            }
            Self::Silent => return future::ProvideCredentials::new(std::future::pending()),
        };
        future::ProvideCredentials::ready(Err(error))
    }
}

/// How a message fails whose client has this provider.
async fn failure(provider: Option<Provider>, timeouts: ClientTimeouts) -> Failure {
    let stub = stub().await;
    let mut config = config(&stub.endpoint_url()).into_builder();
    config.set_credentials_provider(provider.map(SharedCredentialsProvider::new));
    let client = client(&config.build(), timeouts).unwrap();

    let outcomes = SnsPublisher::new(client, topics(&stub)).publish(&numbered(1)).await;

    assert_eq!(words(&outcomes), ["credentials"], "{outcomes:?}");
    assert_eq!(stub.requests().publish_batch, 0);
    outcomes[0].clone().unwrap_err()
}

#[tokio::test]
async fn a_client_without_a_provider_says_how_to_give_it_credentials() {
    assert_eq!(failure(None, PATIENT).await.summary(), NO_CREDENTIALS);
}

#[tokio::test]
async fn a_provider_without_credentials_says_how_to_give_it_some() {
    assert_eq!(failure(Some(Provider::Absent), PATIENT).await.summary(), NO_CREDENTIALS);
}

#[tokio::test]
async fn a_provider_that_fails_says_why() {
    for (provider, timeouts, why) in [
        (Provider::Broken, PATIENT, "the metadata service said 500"),
        (Provider::RoleWithoutSource, PATIENT, "an error occurred while loading credentials"),
        (Provider::Silent, HASTY, "timed out"),
        (Provider::Unreachable, PATIENT, "connection refused"),
    ] {
        let failure = failure(Some(provider), timeouts).await;

        assert!(failure.summary().contains(why), "{failure}");
        assert_ne!(failure.summary(), NO_CREDENTIALS);
    }
}

#[tokio::test]
async fn the_signed_request_in_a_refusal_of_a_role_is_not_repeated() {
    let failure = failure(Some(Provider::Refused), PATIENT).await;

    assert!(failure.summary().contains("The request signature does not match."), "{failure}");
    assert!(!failure.summary().contains("IQoJb3"), "{failure}");
}
