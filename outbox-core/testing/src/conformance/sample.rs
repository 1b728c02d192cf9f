//! Messages and outcomes that the cases are made of.

use std::time::Duration;

use bytes::Bytes;
use chrono::{SubsecRound, Utc};
use outbox_core::{
    DeadReason, EventId, Failure, FailureKind, Headers, Lane, OutboxMessage, OutcomeKind, Schedule,
    StagedMessage,
};

pub(super) const TOPIC: &str = "orders";
/// So short that waiting for its end costs a test nothing.
pub(super) const SHORT: Duration = Duration::from_millis(40);
/// So long that no test lives to see its end.
pub(super) const HOUR: Duration = Duration::from_secs(3600);

/// An unordered message that is due at once.
pub(super) fn message() -> StagedMessage {
    due_at_once(plain(TOPIC))
}

/// An ordered message of this key.
pub(super) fn keyed(key: &str) -> StagedMessage {
    keyed_in(TOPIC, key)
}

/// An ordered message of this key in this topic.
pub(super) fn keyed_in(topic: &str, key: &str) -> StagedMessage {
    let mut message = plain(topic);
    message.partition_key = Some(key.to_owned());
    message.ordering_key.clone_from(&message.partition_key);
    due_at_once(message)
}

/// So many ordered messages of this key.
pub(super) fn keyed_times(key: &str, messages: usize) -> Vec<StagedMessage> {
    (0..messages).map(|_| keyed(key)).collect()
}

/// A message with this payload size and this key.
pub(super) fn sized(key: &str, bytes: usize) -> StagedMessage {
    let mut staged = keyed(key);
    staged.message.payload = vec![b'x'; bytes].into();
    staged
}

/// The same message by another schedule.
pub(super) fn scheduled(staged: StagedMessage, schedule: Schedule) -> StagedMessage {
    StagedMessage { schedule, ..staged }
}

/// A message in which everything is set, to values that a careless store would change.
pub(super) fn complete() -> StagedMessage {
    let mut message = plain("orders.eu:west/1");
    message.payload = Bytes::from_static(b"{\"a\": 1}\n\xff\x00\xfe 'quoted' \\ \xe2\x82");
    message.transport = Some("sns-eu".to_owned());
    message.event_version = u16::MAX;
    message.subject = Some("order/1 ünï'\"\\".to_owned());
    message.partition_key = Some("Key ä".to_owned());
    message.ordering_key.clone_from(&message.partition_key);
    message.content_type = "application/octet-stream".into();
    message.headers =
        Headers::from_iter([("X-B", "2"), ("x-a", " 1 "), ("X-B", ""), ("x-b", "ä\n\"")]);
    message.tenant = Some("tenant-1".to_owned());
    message.correlation_id = Some("correlation".to_owned());
    message.causation_id = Some("causation".to_owned());
    message.traceparent =
        Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned());
    message.tracestate = Some("vendor=1".to_owned());
    due_at_once(message)
}

/// Two keys whose records share a lane.
pub(super) fn neighbours() -> (String, String) {
    pair_of_keys(|first, second| first == second)
}

/// Two keys whose records are in different lanes, the lower lane first.
pub(super) fn strangers() -> (String, String) {
    pair_of_keys(|first, second| first < second)
}

/// A failure that is due again after this delay.
pub(super) fn failed(delay: Duration) -> OutcomeKind {
    failed_with("broker is away", delay)
}

/// A failure with this summary.
pub(super) fn failed_with(summary: &str, delay: Duration) -> OutcomeKind {
    OutcomeKind::Failed { failure: Failure::new(FailureKind::Transient, summary), delay }
}

/// A death that leaves the key alone.
pub(super) fn dead() -> OutcomeKind {
    OutcomeKind::Dead {
        reason: DeadReason::Rejected,
        error: "message is too long".to_owned(),
        parks_key: false,
    }
}

/// A death that parks the key.
pub(super) fn dead_head() -> OutcomeKind {
    OutcomeKind::Dead {
        reason: DeadReason::AttemptsExhausted,
        error: "broker is away".to_owned(),
        parks_key: true,
    }
}

fn plain(topic: &str) -> OutboxMessage {
    let payload = Bytes::from_static(b"{\"order_id\":1}");
    let mut message = OutboxMessage::new(
        EventId::new(),
        "orders.order_placed",
        topic,
        "https://shop.example/orders",
        payload,
    );
    // As exact as every database keeps it.
    message.occurred_at = Utc::now().trunc_subsecs(6);
    message
}

fn due_at_once(message: OutboxMessage) -> StagedMessage {
    StagedMessage { message, schedule: Schedule::Now }
}

/// The first two keys whose lanes are so related; among this many there are some of any relation.
fn pair_of_keys(related: impl Fn(Lane, Lane) -> bool) -> (String, String) {
    let lane = |key: &str| Lane::of_key(TOPIC, key);
    let first = "key-0".to_owned();
    let mut others = (1..10_000).map(|number| format!("key-{number}"));
    let second = others.find(|key| related(lane(&first), lane(key)));
    (first, second.unwrap())
}
