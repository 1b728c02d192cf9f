//! The SNS publisher against an endpoint that speaks the protocol of SNS.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use outbox_core::{FailureKind, Publisher};
use outbox_testing::sns::{Entries, Fault};
use outbox_worker::publisher::sns::{SnsTopic, TopicProfile};
use serde_json::Value;

use crate::publisher_endpoint::{PATIENT, publisher, stub, topics};
use crate::publisher_fixture::{TRACEPARENT, message, numbered, words};

#[tokio::test]
async fn ten_messages_arrive_in_one_request_with_a_receipt_each() {
    let stub = stub().await;
    let messages = numbered(10);

    let outcomes = publisher(&stub, PATIENT).publish(&messages).await;

    let journal = stub.journal();
    assert_eq!(stub.requests().publish_batch, 1);
    assert_eq!(journal.len(), 10);
    for ((message, outcome), accepted) in messages.iter().zip(&outcomes).zip(&journal) {
        let document: Value = serde_json::from_str(&accepted.message).unwrap();
        assert_eq!(document["id"], message.id.to_string());
        assert_eq!(accepted.attribute("ce_id"), Some(&*message.id.to_string()));
        assert_eq!(outcome.as_ref().unwrap().broker_id.as_deref(), Some(&*accepted.message_id));
    }
}

#[tokio::test]
async fn attributes_travel_as_text() {
    let stub = stub().await;
    let mut message = message(r#"{"emoji":"😀&=+%"}"#);
    message.traceparent = Some(TRACEPARENT.to_owned());

    publisher(&stub, PATIENT).publish(&[message]).await;

    let accepted = &stub.journal()[0];
    assert!(accepted.message.contains(r#""data":{"emoji":"😀&=+%"}"#));
    assert!(accepted.attributes.iter().all(|attribute| attribute.data_type == "String"));
    assert_eq!(accepted.attribute("traceparent"), Some(TRACEPARENT));
    assert_eq!(accepted.deduplication_id, None);
}

#[tokio::test]
async fn no_messages_are_no_request() {
    let stub = stub().await;

    let outcomes = publisher(&stub, PATIENT).publish(&[]).await;

    assert!(outcomes.is_empty());
    assert_eq!(stub.requests().publish_batch, 0);
}

#[tokio::test]
async fn large_messages_go_out_in_several_requests_at_once() {
    let stub = stub().await;
    stub.script([Fault::Hang, Fault::Hang]);
    let publisher = publisher(&stub, PATIENT);
    let mut messages = numbered(10);
    let payload = format!("\"{}\"", "x".repeat(30 * 1024));
    for message in &mut messages {
        message.payload = payload.clone().into();
    }

    let sending = tokio::spawn(async move { publisher.publish(&messages).await });
    stub.hung_at_least(2).await;
    stub.release_hung();
    let outcomes = sending.await.unwrap();

    assert_eq!(words(&outcomes), ["ok"; 10]);
    assert_eq!(stub.requests().publish_batch, 2);
    assert_eq!(stub.journal().len(), 10);
}

#[tokio::test]
async fn no_more_requests_are_under_way_than_allowed() {
    let stub = stub().await;
    stub.otherwise(Fault::Hang);
    let publisher = publisher(&stub, PATIENT).with_concurrency(NonZeroUsize::new(2).unwrap());
    let mut messages = numbered(8);
    let payload = format!("\"{}\"", "x".repeat(140 * 1024));
    for message in &mut messages {
        message.payload = payload.clone().into();
    }

    let sending = tokio::spawn(async move { publisher.publish(&messages).await });
    for batches in [2, 4, 6, 8] {
        stub.published_at_least(batches).await;
        stub.hung_at_least(2).await;
        // Whatever else was sent has time to arrive: client and stub share this thread.
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        assert_eq!(stub.requests().publish_batch, batches);
        stub.release_hung();
    }

    assert_eq!(words(&sending.await.unwrap()), ["ok"; 8]);
}

#[tokio::test]
async fn one_bad_message_holds_none_of_the_nine_others() {
    let stub = stub().await;
    let publisher = publisher(&stub, PATIENT).with_concurrency(NonZeroUsize::MIN);
    let refused = || Fault::InvalidParameter;
    // All ten; places 0 to 4; 5 to 9; then 5, 6, 7 and so on one by one.
    stub.script([
        refused(),
        Fault::Pass,
        refused(),
        Fault::Pass,
        Fault::Pass,
        refused(),
        Fault::Pass,
        Fault::Pass,
    ]);
    let messages = numbered(10);

    let outcomes = publisher.publish(&messages).await;

    let mut expected = ["ok"; 10];
    expected[7] = "message";
    assert_eq!(words(&outcomes), expected);
    assert_eq!(outcomes[7].as_ref().unwrap_err().code.as_deref(), Some("InvalidParameter"));
    assert_eq!(stub.faults_left(), 0);
    assert_eq!(stub.requests().publish_batch, 8);
    let accepted: BTreeSet<String> =
        stub.journal().iter().map(|a| a.attribute("ce_id").unwrap().to_owned()).collect();
    assert_eq!(accepted.len(), 9);
    assert!(!accepted.contains(&messages[7].id.to_string()));
    // Verdicts did not change places on the way.
    for (message, outcome) in messages.iter().zip(&outcomes) {
        let Ok(receipt) = outcome else { continue };
        let id = Some(message.id.to_string());
        let broker_id = receipt.broker_id.as_ref().unwrap();
        assert!(stub.journal().iter().any(|accepted| {
            accepted.message_id == *broker_id
                && accepted.attribute("ce_id").map(str::to_owned) == id
        }));
    }
}

#[tokio::test]
async fn ten_bad_messages_cost_thirteen_requests() {
    let stub = stub().await;
    stub.otherwise(Fault::InvalidParameter);

    let outcomes = publisher(&stub, PATIENT).publish(&numbered(10)).await;

    assert_eq!(words(&outcomes), ["message"; 10]);
    assert_eq!(stub.requests().publish_batch, 13);
}

#[tokio::test]
async fn a_topic_with_a_smaller_limit_than_configured_refuses_only_what_is_too_large() {
    let stub = stub().await;
    let profile = TopicProfile::default().with_limit(TopicProfile::LARGEST_LIMIT).unwrap();
    let topic = SnsTopic::new(stub.topic_arn("orders")).unwrap().with_profile(profile);
    let publisher = outbox_worker::publisher::sns::SnsPublisher::new(
        crate::publisher_endpoint::client_of(&stub.endpoint_url(), PATIENT),
        topics(&stub).with_topic("orders", topic),
    );
    let mut messages = numbered(4);
    messages[2].payload = format!("\"{}\"", "x".repeat(300 * 1024)).into();

    let outcomes = publisher.publish(&messages).await;

    assert_eq!(words(&outcomes), ["ok", "ok", "message", "ok"]);
    assert_eq!(outcomes[2].as_ref().unwrap_err().code.as_deref(), Some("BatchRequestTooLong"));
    assert_eq!(stub.journal().len(), 3);
}

#[tokio::test]
async fn what_cannot_be_sent_is_not_and_the_rest_is() {
    let stub = stub().await;
    let mut messages = numbered(3);
    messages[1].payload = format!("\"{}\"", "x".repeat(TopicProfile::DEFAULT_LIMIT)).into();

    let outcomes = publisher(&stub, PATIENT).publish(&messages).await;

    assert_eq!(words(&outcomes), ["ok", "message", "ok"]);
    assert_eq!(stub.requests().publish_batch, 1);
    assert_eq!(stub.journal().len(), 2);
}

#[tokio::test]
async fn failed_entries_get_the_class_of_their_code() {
    let rows = [
        ("InvalidParameter", true, FailureKind::Message),
        ("InternalError", false, FailureKind::Ambiguous),
        ("Throttled", true, FailureKind::Throttled),
        ("KMSDisabled", true, FailureKind::Destination),
        ("NeverHeardOf", true, FailureKind::Message),
        ("NeverHeardOf", false, FailureKind::Ambiguous),
    ];
    for (code, sender_fault, kind) in rows {
        let stub = stub().await;
        stub.script([Fault::fail_entries(Entries::At(vec![1, 3]), code, sender_fault)]);

        let outcomes = publisher(&stub, PATIENT).publish(&numbered(5)).await;

        let failed = kind.as_str();
        assert_eq!(words(&outcomes), ["ok", failed, "ok", failed, "ok"], "{code}");
        assert_eq!(outcomes[3].as_ref().unwrap_err().code.as_deref(), Some(code));
        assert_eq!(stub.requests().publish_batch, 1, "{code}");
        assert_eq!(stub.journal().len(), 3);
    }
}

#[tokio::test]
async fn an_entry_that_the_answer_does_not_mention_may_be_out() {
    let stub = stub().await;
    stub.script([Fault::OmitEntries(Entries::At(vec![0]))]);

    let outcomes = publisher(&stub, PATIENT).publish(&numbered(3)).await;

    assert_eq!(words(&outcomes), ["ambiguous", "ok", "ok"]);
    assert_eq!(stub.journal().len(), 3);
}

#[tokio::test]
async fn each_message_goes_to_its_own_topic() {
    let stub = stub().await;
    let mut messages = numbered(4);
    messages[1].topic = "stock".into();
    messages[2].topic = "nowhere".into();

    let outcomes = publisher(&stub, PATIENT).publish(&messages).await;

    assert_eq!(words(&outcomes), ["ok", "ok", "destination", "ok"]);
    let journal = stub.journal();
    for (place, topic) in [(0, "orders"), (1, "stock"), (3, "orders")] {
        let id = messages[place].id.to_string();
        let accepted = journal.iter().find(|a| a.attribute("ce_id") == Some(&id)).unwrap();
        assert_eq!(accepted.topic_arn, stub.topic_arn(topic));
    }
}

#[tokio::test]
async fn a_topic_that_nobody_configured_is_no_request() {
    let stub = stub().await;
    let mut messages = numbered(1);
    messages[0].topic = "no.such.topic".into();

    let outcomes = publisher(&stub, PATIENT).publish(&messages).await;

    assert_eq!(words(&outcomes), ["destination"]);
    assert_eq!(stub.requests().publish_batch, 0);
}

#[tokio::test]
async fn a_retry_to_a_fifo_topic_is_dropped_there_and_a_replay_is_not() {
    let stub = stub().await;
    let publisher = publisher(&stub, PATIENT);
    let mut messages = numbered(1);
    messages[0].topic = "orders.fifo".into();
    messages[0].ordering_key = Some("order 7".to_owned());

    publisher.publish(&messages).await;
    publisher.publish(&messages).await;
    messages[0].replays = 1;
    let outcomes = publisher.publish(&messages).await;

    assert_eq!(words(&outcomes), ["ok"]);
    let journal = stub.journal();
    let deduplicated: Vec<bool> = journal.iter().map(|a| a.deduplicated).collect();
    assert_eq!(deduplicated, [false, true, false]);
    assert!(journal.iter().all(|accepted| accepted.group_id == journal[0].group_id));
    assert_eq!(journal[0].group_id.as_ref().map(String::len), Some(32));
}

#[tokio::test]
async fn debug_shows_no_credentials() {
    let stub = stub().await;

    let text = format!("{:?}", publisher(&stub, PATIENT));

    assert!(!text.contains("AKIDTEST") && !text.contains("secret"), "{text}");
}
