//! Records.

use std::sync::Arc;

use bytes::Bytes;
use outbox_core::{EventId, KeyRef, OutboxMessage, OutboxRecord, Position, RecordRef};

fn record(ordering_key: Option<&str>) -> OutboxRecord {
    let mut message = OutboxMessage::new(EventId::new(), "placed", "orders", "shop", Bytes::new());
    message.ordering_key = ordering_key.map(str::to_owned);
    let (id, lane) = (message.id, message.lane());
    OutboxRecord::new(RecordRef { id, lane, position: Position(1) }, message)
}

#[test]
fn a_key_belongs_to_its_topic() {
    let key = record(Some("7")).key();

    assert_eq!(key, Some(KeyRef { topic: Arc::from("orders"), key: "7".into() }));
}

#[test]
fn an_unordered_record_has_no_key() {
    assert_eq!(record(None).key(), None);
}

#[test]
fn a_fresh_record_was_never_tried_and_is_due_at_once() {
    let record = record(None);

    assert_eq!((record.revision, record.attempts), (0, 0));
    assert_eq!((record.available_at, record.first_failed_at), (None, None));
    assert_eq!(record.last_error, None);
}
