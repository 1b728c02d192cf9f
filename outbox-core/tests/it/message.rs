//! What a message shows and where it belongs.

use bytes::Bytes;
use outbox_core::{EventId, Lane, OutboxMessage};

fn message() -> OutboxMessage {
    OutboxMessage::new(EventId::new(), "orders.placed", "orders", "shop", Bytes::from("s3cret"))
}

#[test]
fn debug_shows_neither_payload_nor_header_values() {
    let mut message = message();
    message.headers.push("authorization", "t0ken");

    let shown = format!("{message:?} {message:#?}");

    assert!(shown.contains("authorization") && shown.contains("payload_bytes: 6"), "{shown}");
    assert!(!shown.contains("s3cret") && !shown.contains("t0ken"), "{shown}");
    // Bytes may also be shown one by one.
    assert!(!shown.contains("115"), "{shown}");
}

#[test]
fn an_ordered_message_belongs_to_the_lane_of_its_key() {
    let mut message = message();
    message.ordering_key = Some("7".into());

    assert_eq!(message.lane(), Lane::of_key("orders", "7"));
}

#[test]
fn an_unordered_message_belongs_to_the_lane_of_its_id() {
    let mut message = message();
    message.partition_key = Some("7".into());

    assert_eq!(message.lane(), Lane::of_id(message.id));
}

#[test]
fn the_size_counts_every_word_that_travels() {
    let mut message = message();
    let bare = "s3cret".len() + "orders.placed".len() + "orders".len() + "shop".len();
    assert_eq!(message.size(), bare + OutboxMessage::JSON.len());

    message.content_type = "".into();
    message.headers.push("ab", "c");
    message.subject = Some("x".repeat(10));
    message.partition_key = Some("x".repeat(20));
    message.ordering_key = Some("x".repeat(40));
    message.tenant = Some("x".repeat(80));
    message.correlation_id = Some("x".repeat(160));
    message.causation_id = Some("x".repeat(320));
    message.traceparent = Some("x".repeat(640));
    message.tracestate = Some("x".repeat(1280));

    assert_eq!(message.size(), bare + 3 + 2550);
}
