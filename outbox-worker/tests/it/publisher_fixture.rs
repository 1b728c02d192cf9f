//! Messages that the tests of publishers share.

use bytes::Bytes;
use outbox_core::{EventId, OutboxMessage, PublishOutcomes};
use uuid::Uuid;

pub(crate) const ID: &str = "01932c07-2f6a-7c3e-9d5b-3a0f4b1c2d3e";
#[cfg(feature = "sns")]
pub(crate) const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// An order placed under [`ID`], with this payload.
pub(crate) fn message(payload: impl Into<Bytes>) -> OutboxMessage {
    let id = EventId::from_uuid(ID.parse().unwrap()).unwrap();
    let mut message =
        OutboxMessage::new(id, "orders.placed", "orders", "https://shop.example", payload.into());
    message.occurred_at = "2026-11-30T12:34:56.123456Z".parse().unwrap();
    message
}

/// Orders with fresh ids and the payloads `{"n":0}`, `{"n":1}` and so on.
pub(crate) fn numbered(count: usize) -> Vec<OutboxMessage> {
    (0..count)
        .map(|n| {
            let mut message = message(format!(r#"{{"n":{n}}}"#));
            message.id = EventId::from_uuid(Uuid::now_v7()).unwrap();
            message
        })
        .collect()
}

/// `ok`, or the kind of the failure, for each message.
pub(crate) fn words(outcomes: &PublishOutcomes) -> Vec<&'static str> {
    outcomes
        .iter()
        .map(|outcome| outcome.as_ref().map_or_else(|failure| failure.kind.as_str(), |_| "ok"))
        .collect()
}
