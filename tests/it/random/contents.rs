//! What is stored, line by line.

use chrono::{DateTime, Utc};
use outbox_core::{LaneLease, OutboxRecord, RecordRef, WorkerId};
use outbox_testing::{HeldRecord, MemoryStore};

use super::compare::Difference;
use super::database::Outbox;
use super::names::Names;
use super::tables::Tables;

/// Whether the tables of both sides hold the same.
pub(super) async fn compare(
    reference: &MemoryStore,
    outbox: &Outbox,
    names: &mut Names,
    now: DateTime<Utc>,
) -> Result<(), Difference> {
    let expected = expected(reference);
    let stored = Tables { outbox, names, now }.lines().await?;
    let lines = expected.len().max(stored.len());
    let differs = (0..lines).find(|at| expected.get(*at) != stored.get(*at));
    differs.map_or(Ok(()), |at| {
        let (reference, real) = (expected.get(at), stored.get(at));
        Err(format!("stored\n  reference: {reference:?}\n  database:  {real:?}"))
    })
}

fn expected(store: &MemoryStore) -> Vec<String> {
    let stored = |table: &str, record: &OutboxRecord, end: &str| {
        line(table, record, record.message.size(), end)
    };
    let mut lines: Vec<String> = Vec::new();
    lines.extend(store.pending().iter().map(|record| stored("pending", record, "")));
    lines.extend(store.dead_letters().iter().map(|letter| {
        stored("dead", &letter.record, &ending(letter.reason.as_str(), letter.died_at))
    }));
    lines.extend(store.parked().iter().map(|record| stored("parked", record, "")));
    let mut keys: Vec<String> = store
        .parked_keys()
        .iter()
        .map(|(key, dead)| parked_key(&key.topic, &key.key, *dead))
        .collect();
    keys.sort();
    lines.extend(keys);
    let leased = store.lanes().into_iter();
    lines.extend(leased.map(|it| held(it.lease, it.owner, it.expires_at)));
    lines.extend(store.claims().iter().map(claimed));
    lines
}

pub(super) fn line(table: &str, record: &OutboxRecord, size: usize, end: &str) -> String {
    let message = &record.message;
    let headers = serde_json::to_string(&message.headers).unwrap();
    let payload = String::from_utf8_lossy(&message.payload);
    let OutboxRecord { reference, revision, attempts, available_at, first_failed_at, .. } = record;
    let failures = (revision, attempts, available_at, first_failed_at, &record.last_error);
    let names = (
        (&message.transport, &message.event_type, message.event_version, &message.topic),
        (&message.source, &message.subject, &message.partition_key, &message.ordering_key),
        (&message.content_type, &message.tenant, &message.correlation_id, &message.causation_id),
        (&message.traceparent, &message.tracestate, message.format.0, message.replays),
        (message.occurred_at, message.deliver_at, size),
    );
    format!("{table} {reference:?} {failures:?} {names:?} {headers} {payload} {end}")
}

pub(super) fn ending(reason: &str, at: DateTime<Utc>) -> String {
    format!("{reason} at {at}")
}

pub(super) fn parked_key(topic: &str, key: &str, dead: RecordRef) -> String {
    format!("parked key {key:?} of {topic} behind {dead:?}")
}

pub(super) fn held(lease: LaneLease, owner: WorkerId, until: DateTime<Utc>) -> String {
    format!("{lease:?} of {owner} until {until}")
}

pub(super) fn claimed(claim: &HeldRecord) -> String {
    format!("{claim:?}")
}
