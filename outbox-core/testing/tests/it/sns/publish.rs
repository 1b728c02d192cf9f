use aws_sdk_sns::primitives::Blob;
use aws_sdk_sns::types::MessageAttributeValue;
use outbox_testing::sns::{Answer, Attribute};

use super::{Peer, attribute, soon, text};

#[tokio::test]
async fn a_published_message_is_journalled_with_all_it_carried() {
    let peer = Peer::start().await;

    let answer = peer
        .publish(r#"{"id":1}"#)
        .subject("an order")
        .message_group_id("customer-7")
        .message_attributes("type", text("order.placed"))
        .send()
        .await
        .unwrap();

    let [accepted] = &peer.stub.journal()[..] else { panic!("one message was published") };
    assert_eq!(accepted.number, 1);
    assert_eq!(accepted.request, 1);
    assert_eq!(accepted.access_key_id.as_deref(), Some("test"));
    assert_eq!(accepted.topic_arn, "arn:aws:sns:us-east-1:000000000000:orders");
    assert_eq!(accepted.message, r#"{"id":1}"#);
    assert_eq!(accepted.subject.as_deref(), Some("an order"));
    assert_eq!(accepted.group_id.as_deref(), Some("customer-7"));
    assert_eq!(accepted.deduplication_id, None);
    assert!(!accepted.deduplicated);
    assert_eq!(accepted.answer, Answer::Sent);
    assert_eq!(Some(accepted.message_id.as_str()), answer.message_id());
    assert_eq!(answer.sequence_number(), None);
    assert_eq!(
        accepted.attributes,
        [Attribute {
            name: "type".to_owned(),
            data_type: "String".to_owned(),
            value: "order.placed".to_owned(),
        }]
    );
}

#[tokio::test]
async fn attributes_of_every_type_come_through() {
    let peer = Peer::start().await;
    let binary = MessageAttributeValue::builder()
        .data_type("Binary")
        .binary_value(Blob::new([0, 255, 1]))
        .build()
        .unwrap();

    peer.publish("m")
        .message_attributes("number", attribute("Number", "-4.2"))
        .message_attributes("custom", attribute("String.json", "{}"))
        .message_attributes("binary", binary)
        .send()
        .await
        .unwrap();

    let accepted = &peer.stub.journal()[0];
    assert_eq!(accepted.attribute("number"), Some("-4.2"));
    assert_eq!(accepted.attribute("custom"), Some("{}"));
    assert_eq!(accepted.attribute("binary"), Some("AP8B"));
    assert_eq!(accepted.attribute("other"), None);
}

#[tokio::test]
async fn hostile_bodies_and_values_arrive_unchanged() {
    let peer = Peer::start().await;
    let bodies =
        ["<a>&amp;\"'</a>]]>", "a+b c%20&d=e", "tab\tcr\rlf\n", "\u{1}\0\u{fffe}", "grüße 😀"];

    for body in bodies {
        peer.publish(body).message_attributes("a-b_c.d", text(body)).send().await.unwrap();
    }

    let journal = peer.stub.journal();
    let arrived: Vec<&str> = journal.iter().map(|accepted| accepted.message.as_str()).collect();
    assert_eq!(arrived, bodies);
    for accepted in &journal {
        assert_eq!(accepted.attribute("a-b_c.d"), Some(accepted.message.as_str()));
    }
}

#[tokio::test]
async fn a_test_can_await_what_another_publishes() {
    let peer = Peer::start().await;
    let call = peer.publish("first");
    tokio::spawn(async move { call.send().await });

    let journal = soon(peer.stub.accepted_at_least(1)).await;

    assert_eq!(journal[0].message, "first");
    let answered =
        soon(peer.stub.accepted_until(|journal| journal[0].answer == Answer::Sent)).await;
    assert_eq!(answered.len(), 1);
}

#[tokio::test]
async fn requests_are_counted_by_kind_refused_ones_too() {
    let peer = Peer::start().await;

    peer.publish("m").send().await.unwrap();
    peer.publish("").send().await.unwrap_err();
    peer.batch([super::entry("a", "m")]).send().await.unwrap();
    peer.client.create_topic().name("other").send().await.unwrap();
    peer.client.get_topic_attributes().topic_arn(&peer.topic).send().await.unwrap();
    peer.client.list_topics().send().await.unwrap_err();

    let requests = soon(peer.stub.published_at_least(3)).await;
    assert_eq!((requests.publish, requests.publish_batch), (2, 1));
    assert_eq!((requests.create_topic, requests.get_topic_attributes), (1, 1));
    assert_eq!(requests.other, 1);
}
