//! Who published what.

use aws_sdk_sns::Client;
use outbox_testing::sns::SnsStub;

use super::malformed::{FORM, send_with};
use super::{client, entry};

async fn publish(client: &Client, topic: &str, message: &str) {
    client.publish().topic_arn(topic).message(message).send().await.unwrap();
}

#[tokio::test]
async fn each_message_bears_the_access_key_id_of_its_publisher() {
    let stub = SnsStub::builder().topic("orders").start().await.unwrap();
    let (ada, bob) = (client(&stub, "AKIAADA"), client(&stub, "AKIABOB"));
    let topic = stub.topic_arn("orders");

    publish(&ada, &topic, "1").await;
    let batch = bob.publish_batch().topic_arn(&topic);
    let batch = batch.publish_batch_request_entries(entry("a", "2"));
    batch.publish_batch_request_entries(entry("b", "3")).send().await.unwrap();
    publish(&ada, &topic, "4").await;

    let journal = stub.journal();
    let publishers: Vec<_> = journal.iter().map(|one| one.access_key_id.as_deref()).collect();
    assert_eq!(publishers, ["AKIAADA", "AKIABOB", "AKIABOB", "AKIAADA"].map(Some));
}

#[tokio::test]
async fn a_request_that_names_no_signer_is_accepted_and_has_none() {
    let stub = SnsStub::builder().topic("orders").start().await.unwrap();
    let body = format!("Action=Publish&TopicArn={}&Message=m", stub.topic_arn("orders"));
    let heads = [
        "",
        "authorization: Basic AKIAADA/x\r\n",
        "authorization: AWS4-HMAC-SHA256 Credential=AKIAADA\r\n",
        "authorization: AWS4-HMAC-SHA256 Credential=/20260101/us-east-1/sns/aws4_request\r\n",
    ];

    for head in heads {
        let answer = send_with(stub.address(), head, FORM, body.clone()).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{head}: {answer}");
    }

    let journal = stub.journal();
    assert_eq!(journal.len(), heads.len());
    assert!(journal.iter().all(|accepted| accepted.access_key_id.is_none()), "{journal:?}");
}
