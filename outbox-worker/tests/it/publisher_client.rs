//! The client from the environment, each case in a process with an environment of its own.

use std::process::Command;

use outbox_core::Publisher;
use outbox_testing::sns::{Fault, SnsStub};
use outbox_worker::publisher::sns::{
    ClientTimeouts, SnsConfigError, SnsPublisher, SnsTopics, client, client_from_env,
};

use crate::publisher_credentials::NO_CREDENTIALS;
use crate::publisher_endpoint::stub;
use crate::publisher_fixture::{numbered, words};

const TOPIC: &str = "PUBLISHER_CLIENT_TOPIC";

/// Runs [`the_child_process`] with nothing but these variables and returns what it prints.
async fn child(variables: &[(&str, String)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "publisher_client::the_child_process", "--ignored", "--nocapture"])
        .env_clear()
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env("AWS_CONFIG_FILE", "/dev/null")
        .env("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
        .envs(variables.iter().map(|(name, value)| (name, value)));
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    text
}

/// What a user of the stub sets.
fn variables(stub: &SnsStub) -> Vec<(&'static str, String)> {
    vec![
        (TOPIC, stub.topic_arn("orders")),
        ("AWS_REGION", "us-east-1".to_owned()),
        ("AWS_ACCESS_KEY_ID", "AKIDTEST".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "secret".to_owned()),
    ]
}

#[tokio::test]
#[ignore = "runs only as a child process of the other tests"]
async fn the_child_process() {
    let Ok(topic) = std::env::var(TOPIC) else { return };
    let client = match client_from_env(ClientTimeouts::default()).await {
        Ok(client) => client,
        Err(error) => return println!("error: {error}"),
    };
    let mut messages = numbered(1);
    messages[0].topic = topic.into();
    let outcomes = SnsPublisher::new(client, SnsTopics::new()).publish(&messages).await;
    println!("outcome: {}", words(&outcomes)[0]);
    if let Err(failure) = &outcomes[0] {
        println!("because: {}", failure.summary());
    }
}

#[tokio::test]
async fn a_missing_region_is_said() {
    let text = child(&[(TOPIC, "x".to_owned())]).await;

    assert!(text.contains("error: no AWS region is configured: set AWS_REGION"), "{text}");
}

#[tokio::test]
async fn the_endpoint_of_sns_comes_before_that_of_all_services() {
    let stub = stub().await;
    let mut variables = variables(&stub);
    variables.push(("AWS_ENDPOINT_URL", "http://127.0.0.1:1".to_owned()));
    variables.push(("AWS_ENDPOINT_URL_SNS", stub.endpoint_url()));

    let text = child(&variables).await;

    assert!(text.contains("outcome: ok"), "{text}");
    assert_eq!(stub.journal().len(), 1);
}

#[tokio::test]
async fn the_endpoint_of_all_services_is_used() {
    let stub = stub().await;
    let mut variables = variables(&stub);
    variables.push(("AWS_ENDPOINT_URL", stub.endpoint_url()));

    let text = child(&variables).await;

    assert!(text.contains("outcome: ok"), "{text}");
}

#[tokio::test]
async fn a_proxy_of_the_environment_is_used() {
    let stub = stub().await;
    let mut variables = variables(&stub);
    variables.push(("AWS_ENDPOINT_URL_SNS", "http://sns.invalid".to_owned()));
    variables.push(("HTTP_PROXY", stub.endpoint_url()));

    let text = child(&variables).await;

    assert!(text.contains("outcome: ok"), "{text}");
    assert_eq!(stub.journal().len(), 1);
}

#[tokio::test]
async fn the_environment_cannot_make_the_client_retry() {
    let stub = stub().await;
    stub.otherwise(Fault::InternalError);
    let mut variables = variables(&stub);
    variables.push(("AWS_ENDPOINT_URL", stub.endpoint_url()));
    variables.push(("AWS_MAX_ATTEMPTS", "5".to_owned()));

    let text = child(&variables).await;

    assert!(text.contains("outcome: ambiguous"), "{text}");
    assert_eq!(stub.requests().publish_batch, 1);
}

#[tokio::test]
async fn absent_credentials_show_at_the_first_call() {
    let stub = stub().await;
    // Not asked for a role; asked, and nothing answers there.
    for asks_no_host in ["true", "false"] {
        let mut variables = variables(&stub);
        variables.retain(|(name, _)| !name.contains("KEY"));
        variables.push(("AWS_ENDPOINT_URL", stub.endpoint_url()));
        variables.push(("AWS_EC2_METADATA_DISABLED", asks_no_host.to_owned()));
        variables.push(("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1".to_owned()));

        let text = child(&variables).await;

        assert!(text.contains("outcome: credentials"), "{text}");
        assert!(text.contains(&format!("because: {NO_CREDENTIALS}")), "{text}");
    }
}

#[test]
fn a_configuration_without_a_region_makes_no_client() {
    let config = aws_config::SdkConfig::builder().build();

    let refused = client(&config, ClientTimeouts::default()).unwrap_err();

    assert_eq!(refused, SnsConfigError::RegionMissing);
}
