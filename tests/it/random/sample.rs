//! Messages and outcomes that the numbers of an operation stand for.

use std::sync::LazyLock;
use std::time::Duration;

use chrono::DateTime;
use outbox_core::{
    DeadReason, EventId, Failure, FailureKind, Format, Headers, KeyRef, Lane, OutboxMessage,
    OutcomeKind, Schedule, StagedMessage, Withheld,
};
use uuid::Uuid;

use super::operation::{Draft, Kind, LANES};

/// Topics and ordering keys, each pair a key of its own. A careless store takes some for one.
static KEYS: LazyLock<Vec<(&str, String)>> = LazyLock::new(|| {
    let keys = |number: u32| {
        let keys = ["orders", "returns"].map(|topic| (topic, format!("key-{number}")));
        let others = [format!("Key-{number}"), format!("key-{number} ")];
        keys.into_iter().chain(others.map(|key| ("orders", key))).collect::<Vec<_>>()
    };
    let near = |keys: &Vec<(&str, String)>| {
        keys.iter().all(|(topic, key)| Lane::of_key(topic, key).number() < LANES)
    };
    (0..u32::MAX).map(keys).find(near).expect("among so many there is one")
});

const ERRORS: [&str; 5] = [
    "broker is away",
    "  it said \u{0}no\u{1b}[0m\n to 'this' \\ \u{2603}",
    "x",
    // No outcome may have it.
    " ",
    "a long one",
];

const REASONS: [DeadReason; 5] = [
    DeadReason::AttemptsExhausted,
    DeadReason::Expired,
    DeadReason::Rejected,
    DeadReason::Undecodable,
    DeadReason::WorkerLost,
];

/// The message and when it is due. The serial number, by which it is told from all others of the
/// run, is in its payload.
pub(super) fn staged(draft: Draft, serial: u32) -> StagedMessage {
    let payload = format!("{serial}:{}", "p".repeat(usize::from(draft.padding)));
    let topic = draft.key.map_or("orders", |number| key(number).0);
    let (event_type, source) = ("orders.order_placed", "https://shop.example/orders");
    let mut message = OutboxMessage::new(id(draft.id), event_type, topic, source, payload.into());
    message.occurred_at = DateTime::from_timestamp_micros(1_767_000_000_123_456).unwrap();
    message.ordering_key = draft.key.map(|number| key(number).1.clone());
    message.partition_key.clone_from(&message.ordering_key);
    if draft.newer {
        message.format = Format(Format::CURRENT.0 + 1);
    }
    if draft.complete {
        complete(&mut message);
    }
    let delay = Duration::from_hours(u64::from(draft.delay));
    let schedule = if delay.is_zero() { Schedule::Now } else { Schedule::After(delay) };
    StagedMessage { message, schedule }
}

/// What a read withholds, by its bits.
pub(super) fn withheld(bits: u8) -> Vec<Withheld> {
    let to = |topic: &str, transport: Option<&str>| Withheld::Destination {
        topic: topic.into(),
        transport: transport.map(str::to_owned),
    };
    let keys = KEYS
        .iter()
        .map(|(topic, key)| Withheld::Key(KeyRef { topic: (*topic).into(), key: key.clone() }));
    let ordered = Withheld::Ordered("orders".into());
    let all = [to("orders", None), to("orders", Some("sns-eu")), to("returns", None), ordered];
    let all = all.into_iter().chain(keys).enumerate();
    all.filter(|(bit, _)| bits >> bit & 1 == 1).map(|(_, withheld)| withheld).collect()
}

/// The serial number of a message.
pub(super) fn serial(payload: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(payload).ok()?;
    text.split_once(':')?.0.parse().ok()
}

pub(super) fn outcome(kind: Kind) -> OutcomeKind {
    match kind {
        Kind::Dead { reason, text, parks_key } => OutcomeKind::Dead {
            reason: REASONS[usize::from(reason) % REASONS.len()],
            error: error(text),
            parks_key,
        },
        Kind::Failed { hours, text } => OutcomeKind::Failed {
            failure: failure(text),
            delay: Duration::from_hours(u64::from(hours)),
        },
        Kind::Parked => OutcomeKind::Parked,
        Kind::Published => OutcomeKind::Published,
    }
}

pub(super) fn failure(text: u8) -> Failure {
    Failure::new(FailureKind::Transient, &error(text))
}

fn key(number: u8) -> &'static (&'static str, String) {
    &KEYS[usize::from(number) % KEYS.len()]
}

/// One that an unordered record has a near lane by.
fn id(number: u8) -> EventId {
    let ids = (0..).map(|tried| Uuid::from_u128(u128::from(number) << 96 | tried | 1 << 80));
    let mut ids = ids.filter_map(|id| EventId::from_uuid(id).ok());
    ids.find(|id| Lane::of_id(*id).number() < LANES).expect("among so many there is one")
}

fn error(number: u8) -> String {
    match ERRORS[usize::from(number) % ERRORS.len()] {
        "a long one" => "l\u{e4}nger ".repeat(400),
        text => text.to_owned(),
    }
}

fn complete(message: &mut OutboxMessage) {
    message.transport = Some("sns-eu".to_owned());
    message.event_version = u16::MAX;
    message.subject = Some("order/1 \u{fc}'\"\\".to_owned());
    message.partition_key.get_or_insert_with(|| "Key \u{e4}".to_owned());
    message.content_type = "application/octet-stream".into();
    message.headers =
        Headers::from_iter([("X-B", "2"), ("x-a", " 1 "), ("X-B", ""), ("x-b", "\n\"")]);
    message.tenant = Some("tenant-1".to_owned());
    message.correlation_id = Some("correlation".to_owned());
    message.causation_id = Some("causation".to_owned());
    message.traceparent =
        Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned());
    message.tracestate = Some("vendor=1".to_owned());
}
