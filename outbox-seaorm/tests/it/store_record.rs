//! What is read equals what was staged, and what cannot be decoded stops nobody.

use std::sync::Arc;
use std::time::Duration;

use outbox_core::{
    Count, DeadReason, EventId, Format, Headers, OutboxRecord, OutboxStore, Outcome, OutcomeKind,
    RecordRef, Withheld,
};
use outbox_seaorm::{Context, EventExt, OutboxEvent, Stage};
use sea_orm::TransactionTrait;

use crate::database::{SOURCE, TestDatabase, on_postgres, on_sqlite};
use crate::on_all;
use crate::store_fixture::{HOUR, Outbox, SECOND, Sample, from_start, outcome, positions, sample};

on_all!(store_record:
    a_failed_record_is_read_with_its_failure,
    a_new_record_was_never_tried,
    a_row_that_cannot_be_decoded_is_named_and_the_others_are_read,
    every_field_is_read_as_it_was_staged,
    words_are_shared_between_the_records_of_a_read,
);

#[derive(serde::Serialize, OutboxEvent)]
#[outbox(
    type = "orders.full",
    version = 65535,
    topic = "orders",
    key = id,
    ordered,
    tenant = "acme",
    subject = "orders/7"
)]
struct Full {
    id: i32,
    text: &'static str,
}

fn context() -> Context {
    Context {
        correlation_id: Some("request-17".to_owned()),
        causation_id: Some("command-3".to_owned()),
        traceparent: Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned()),
        tracestate: Some("vendor=1".to_owned()),
        headers: Headers::from_iter([("B", "2"), ("b", "1"), ("B", "ä\"\\")]),
        ..Context::default()
    }
}

async fn staged_lane(outbox: &Outbox) -> u8 {
    let lane: i16 = outbox.value("SELECT lane FROM outbox_message").await;
    u8::try_from(lane).unwrap()
}

async fn every_field_is_read_as_it_was_staged(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let id = EventId::new();
    let event = Full { id: 7, text: "naïve \u{1f980}" };
    let txn = outbox.db.begin().await.unwrap();
    txn.stage(event.with_context(context()).with_id(id).via_transport("sns")).await.unwrap();
    txn.commit().await.unwrap();

    let record = outbox.read_one(staged_lane(&outbox).await).await;

    let message = &record.message;
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(record.reference.id, id);
    assert_eq!(message.id, id);
    assert_eq!(message.format, Format::CURRENT);
    assert_eq!(message.transport, text("sns"));
    assert_eq!(&*message.event_type, "orders.full");
    assert_eq!(message.event_version, 65535);
    assert_eq!(&*message.topic, "orders");
    assert_eq!(&*message.source, SOURCE);
    assert_eq!(message.subject, text("orders/7"));
    assert_eq!(message.partition_key, text("7"));
    assert_eq!(message.ordering_key, text("7"));
    assert_eq!(&*message.content_type, "application/json");
    assert_eq!(message.payload, "{\"id\":7,\"text\":\"naïve \u{1f980}\"}");
    assert_eq!(message.headers, Headers::from_iter([("B", "2"), ("b", "1"), ("B", "ä\"\\")]));
    assert_eq!(message.tenant, text("acme"));
    assert_eq!(message.correlation_id, text("request-17"));
    assert_eq!(message.causation_id, text("command-3"));
    assert!(message.traceparent.as_deref().is_some_and(|it| it.starts_with("00-0af7")));
    assert_eq!(message.tracestate, text("vendor=1"));
    assert_eq!(message.deliver_at, None);
    assert_eq!(message.replays, 0);
    assert_eq!(message.lane(), record.reference.lane);
}

async fn a_new_record_was_never_tried(database: TestDatabase) {
    let outbox = Outbox::new(database);
    outbox.insert(sample(0)).await;

    let record = outbox.read_one(0).await;

    let OutboxRecord { reference, revision, attempts, .. } = record;
    assert_eq!((reference.position.0, revision, attempts), (1, 0, 0));
    assert_eq!(
        (record.available_at, record.first_failed_at, record.last_error),
        (None, None, None)
    );
    assert_eq!(record.failing_for, Duration::ZERO);
    assert_eq!(record.message.occurred_at.timestamp(), 1_767_225_600);
}

async fn a_failed_record_is_read_with_its_failure(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let failed = sample(0)
        .with("available_at", &outbox.instant(Some(-SECOND)))
        .with("first_failed_at", &outbox.instant(Some(-HOUR)))
        .with("deliver_at", &outbox.instant(Some(-2 * HOUR)))
        .with("attempts", "3")
        .with("revision", "4")
        .with("replays", "2")
        .with("last_error", "'no route'");
    outbox.insert(failed).await;

    let record = outbox.read_one(0).await;

    assert_eq!((record.attempts, record.revision, record.message.replays), (3, 4, 2));
    assert_eq!(record.last_error.as_deref(), Some("no route"));
    let since = record.failing_for.as_secs();
    assert!((3600..3700).contains(&since), "{since}");
    let waited = record.available_at.unwrap() - record.first_failed_at.unwrap();
    assert!((3590..=3599).contains(&waited.num_seconds()), "{waited}");
    assert!(record.message.deliver_at < record.first_failed_at);
}

async fn words_are_shared_between_the_records_of_a_read(database: TestDatabase) {
    let outbox = Outbox::new(database);
    outbox.fill(0, 2).await;
    outbox.insert(sample(0).with("topic", "'orders.order_placed'")).await;

    let batch = outbox.read(&[0]).await;

    let [first, second, other] = &batch.records[..] else { panic!("three records") };
    assert!(Arc::ptr_eq(&first.message.topic, &second.message.topic));
    assert!(Arc::ptr_eq(&first.message.source, &second.message.source));
    assert_eq!(&*other.message.topic, "orders.order_placed");
}

async fn a_row_that_cannot_be_decoded_is_named_and_the_others_are_read(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let damages = [
        ("headers", "'{\"a\":1}'", "headers is no JSON list of text pairs"),
        ("headers", "'[[\"secret'", "headers is no JSON list of text pairs"),
        ("event_version", "-1", "event_version is out of range"),
        ("event_version", "65536", "event_version is out of range"),
        ("replays", "-1", "replays is out of range"),
        ("format", "0", "format is unknown"),
    ];
    let mut expected: Vec<(RecordRef, &str)> = Vec::new();
    for (column, value, error) in damages {
        let bad = sample(0).with(column, value).with("revision", "5");
        expected.push((outbox.insert(bad).await, error));
        outbox.insert(sample(0)).await;
    }
    if !outbox.is_postgres() && !outbox.is_mariadb() {
        let bad = sample(0).with("topic", "x'00ff'").with("revision", "5");
        expected.push((outbox.insert(bad).await, "topic is of another kind or out of range"));
    }

    let batch = outbox.read(&[0]).await;

    assert_eq!(positions(&batch), [2, 4, 6, 8, 10, 12]);
    let named: Vec<(RecordRef, &str)> =
        batch.undecodable.iter().map(|row| (row.reference, row.error.as_str())).collect();
    assert_eq!(named, expected);
    assert!(batch.undecodable.iter().all(|row| row.revision == 5));
}

#[tokio::test]
async fn an_instant_beyond_all_calendars_is_undecodable_on_postgres() {
    on_postgres(an_instant_beyond_all_calendars_is_undecodable).await;
}

#[tokio::test]
async fn an_instant_beyond_all_calendars_is_undecodable_on_sqlite() {
    on_sqlite(an_instant_beyond_all_calendars_is_undecodable).await;
}

async fn an_instant_beyond_all_calendars_is_undecodable(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let beyond = if outbox.is_postgres() { "'infinity'" } else { "9223372036854775807" };
    outbox.insert(sample(0).with("occurred_at", beyond)).await;

    let batch = outbox.read(&[0]).await;

    assert_eq!(batch.undecodable.len(), 1);
    assert_eq!(batch.undecodable[0].error, "occurred_at is of another kind or out of range");
}

/// Columns that hold an instant.
const INSTANTS: [&str; 5] =
    ["available_at", "created_at", "deliver_at", "first_failed_at", "occurred_at"];

#[tokio::test]
async fn an_instant_on_no_calendar_stops_no_lane_on_postgres() {
    on_postgres(an_instant_on_no_calendar_stops_no_lane).await;
}

#[tokio::test]
async fn an_instant_on_no_calendar_stops_no_lane_on_sqlite() {
    on_sqlite(an_instant_on_no_calendar_stops_no_lane).await;
}

/// Whoever takes the lane over is told what waits, counts and reads. What is due and cannot be decoded
/// dies with what was stored; what is later than every instant is never due, and its key waits.
async fn an_instant_on_no_calendar_stops_no_lane(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let wrong =
        if outbox.is_postgres() { ["'infinity'", "'-infinity'"] } else { ["'soon'", "1.5"] };
    for value in wrong {
        for column in INSTANTS {
            let sample = failed_before(&outbox, &format!("{column} {}", &value[1..2]));
            outbox.insert(sample.with(column, value)).await;
        }
    }
    let good = outbox.insert(failed_before(&outbox, "good")).await;
    let mut withholding = from_start(&[0]);
    withholding.without = vec![Withheld::Destination { topic: "paused".into(), transport: None }];

    let leases = outbox.lease(1).await;
    let states = outbox.store.acquired(&leases).await.unwrap();
    let counts = outbox.store.stats().await.unwrap();
    let batch = outbox.read(&[0]).await;
    let past = outbox.store.read(&withholding).await.unwrap();
    let dying = batch.undecodable.iter().map(|row| {
        let error = row.error.clone();
        let kind = OutcomeKind::Dead { reason: DeadReason::Undecodable, error, parks_key: false };
        Outcome { revision: row.revision, ..outcome(&leases[0], row.reference, kind) }
    });
    let settled = outbox.settle(&dying.collect::<Vec<_>>()).await;

    // Those whose age alone is wrong are as good as any.
    assert_eq!(positions(&batch), [2, 7, good.position.0]);
    assert_eq!((batch.undecodable.len(), settled.applied.len()), (7, 7));
    assert_eq!((positions(&past), past.undecodable.len()), (positions(&batch), 7));
    assert_eq!(states[0].waiting.len(), 11);
    assert_eq!((counts.ready, counts.retrying), (Count::Exact(10), Count::Exact(1)));
    let kept = format!("SELECT count(*) FROM outbox_dead_letter WHERE occurred_at = {}", wrong[0]);
    assert_eq!(outbox.value::<i64>(&kept).await, 1);
}

/// A record of an ordered key that failed an hour ago and is due again.
fn failed_before(outbox: &Outbox, key: &str) -> Sample {
    let (hour, second) = (outbox.instant(Some(-HOUR)), outbox.instant(Some(-SECOND)));
    let failed = sample(0).key(key).with("attempts", "1").with("revision", "1");
    failed
        .with("first_failed_at", &hour)
        .with("available_at", &second)
        .with("last_error", "'no route'")
}
