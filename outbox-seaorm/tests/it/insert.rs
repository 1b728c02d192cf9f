//! What a staged row holds.

use std::time::Duration;

use outbox_core::Lane;
use outbox_seaorm::{Context, Envelope, EventExt, EventId, Headers, OutboxEvent, Stage};
use sea_orm::TransactionTrait;
use sea_orm::prelude::{DateTimeUtc, Uuid};

use crate::database::{SOURCE, TestDatabase, rows};
use crate::on_all;
use crate::shop::{OrderPlaced, ReportRequested, StockReserved};
use crate::staged::{payloads, texts};

on_all!(insert:
    a_delay_counts_from_the_databases_clock_at_the_statement,
    a_delay_without_end_is_stored_as_a_far_instant,
    a_given_instant_is_stored_to_the_microsecond,
    a_payload_is_stored_byte_for_byte,
    an_event_without_order_has_a_partition_key_alone,
    an_unscheduled_event_is_due_at_once,
    each_of_several_events_has_its_own_delivery_time,
    every_column_of_a_full_event_is_filled,
    every_column_of_full_events_that_go_together_is_filled,
    the_lane_is_that_of_the_key_or_of_the_id,
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
    big: u64,
}

const FULL: Full = Full { id: 7, text: "naïve \u{1f980} \"\\\u{0}", big: 9_007_199_254_740_993 };

/// What is stored of that event under [`context`], on its way to another topic.
const FILLED: [(&str, &str); 23] = [
    ("format", "1"),
    ("transport", "sns"),
    ("event_type", "orders.full"),
    ("event_version", "65535"),
    ("topic", "elsewhere"),
    ("source", SOURCE),
    ("subject", "orders/7"),
    ("partition_key", "7"),
    ("ordering_key", "7"),
    ("content_type", "application/json"),
    ("headers", r#"[["B","2"],["b","1"],["B","3"],["a","ä"]]"#),
    ("tenant", "acme"),
    ("correlation_id", "request-17"),
    ("causation_id", "command-3"),
    ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    ("tracestate", "vendor=1"),
    ("deliver_at", "null"),
    ("available_at", "null"),
    ("attempts", "0"),
    ("replays", "0"),
    ("revision", "0"),
    ("first_failed_at", "null"),
    ("last_error", "null"),
];

fn context() -> Context {
    let text = |text: &str| Some(text.to_owned());
    Context {
        correlation_id: text("request-17"),
        causation_id: text("command-3"),
        traceparent: text("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        tracestate: text("vendor=1"),
        tenant: text("other"),
        headers: Headers::from_iter([("B", "2"), ("b", "1"), ("B", "3")]),
    }
}

async fn every_column_of_a_full_event_is_filled(shop: TestDatabase) {
    assert_filled(&shop, 1).await;
}

/// Several go in another form than one.
async fn every_column_of_full_events_that_go_together_is_filled(shop: TestDatabase) {
    assert_filled(&shop, 3).await;
}

async fn assert_filled(shop: &TestDatabase, events: usize) {
    let event = || FULL.with_context(context()).with_header("a", "ä").via_transport("sns");
    let txn = shop.db.begin().await.unwrap();

    txn.stage_all((0..events).map(|_| event().to_topic("elsewhere"))).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(shop.staged(), 1);
    for (column, expected) in FILLED {
        assert_eq!(texts(&shop.db, column).await, vec![expected; events], "{column}");
    }
    let lane = Lane::of_key("elsewhere", "7").to_string();
    assert_eq!(texts(&shop.db, "lane").await, vec![lane; events]);
    let payload = payloads(&shop.db).await[0].len();
    let size: usize = texts(&shop.db, "size").await[0].parse().unwrap();
    assert!(size > payload + SOURCE.len(), "{size} of {payload}");
    assert_recent(shop, "created_at").await;
    assert_recent(shop, "occurred_at").await;
}

async fn assert_recent(shop: &TestDatabase, column: &str) {
    let age = shop.choose(
        format!("abs(timestampdiff(SECOND, {column}, utc_timestamp(6)))"),
        format!("abs(extract(epoch FROM now() - {column}))::bigint"),
        format!("abs(CAST(strftime('%s', 'now') AS integer) - {column} / 1000000)"),
    );
    let age: i64 = texts(&shop.db, &age).await[0].parse().unwrap();
    assert!(age < 60, "{column} is {age} s old");
}

async fn a_payload_is_stored_byte_for_byte(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();

    txn.stage(FULL).await.unwrap();
    txn.commit().await.unwrap();

    let expected =
        "{\"id\":7,\"text\":\"naïve \u{1f980} \\\"\\\\\\u0000\",\"big\":9007199254740993}";
    assert_eq!(payloads(&shop.db).await, [expected]);
}

async fn the_lane_is_that_of_the_key_or_of_the_id(shop: TestDatabase) {
    let id =
        EventId::from_uuid(Uuid::from_u128(0x0193_7b6a_0000_7000_8000_0000_0000_0001)).unwrap();
    let txn = shop.db.begin().await.unwrap();

    txn.stage(OrderPlaced { order_id: 7, total: 1 }).await.unwrap();
    txn.stage(ReportRequested.with_id(id)).await.unwrap();
    txn.commit().await.unwrap();

    let expected = [Lane::of_key("orders", "7").to_string(), Lane::of_id(id).to_string()];
    assert_eq!(texts(&shop.db, "lane").await, expected);
}

async fn an_event_without_order_has_a_partition_key_alone(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();

    txn.stage(StockReserved { sku: "A1".into(), quantity: 1 }).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(texts(&shop.db, "partition_key").await, ["A1"]);
    assert_eq!(texts(&shop.db, "ordering_key").await, ["null"]);
}

async fn an_unscheduled_event_is_due_at_once(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();

    txn.stage(ReportRequested).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(texts(&shop.db, "available_at").await, ["null"]);
}

async fn a_given_instant_is_stored_to_the_microsecond(shop: TestDatabase) {
    let instant = DateTimeUtc::from_timestamp_micros(1_900_000_000_123_456).unwrap();
    let txn = shop.db.begin().await.unwrap();

    txn.stage(ReportRequested.at(instant)).await.unwrap();
    txn.commit().await.unwrap();

    for column in ["deliver_at", "available_at"] {
        let micros = shop.choose(
            format!("timestampdiff(MICROSECOND, '1970-01-01', {column})"),
            format!("(extract(epoch FROM {column}) * 1000000)::bigint"),
            column.to_owned(),
        );
        assert_eq!(texts(&shop.db, &micros).await, ["1900000000123456"], "{column}");
    }
}

async fn each_of_several_events_has_its_own_delivery_time(shop: TestDatabase) {
    let instant = DateTimeUtc::from_timestamp_micros(1_900_000_000_123_456).unwrap();
    let txn = shop.db.begin().await.unwrap();

    let delayed = ReportRequested.after(Duration::from_hours(1));
    let now = Envelope::new(ReportRequested);
    txn.stage_all([delayed, now, ReportRequested.at(instant)]).await.unwrap();
    txn.commit().await.unwrap();

    let same = "(available_at = deliver_at)";
    assert_eq!(texts(&shop.db, same).await, [truth(&shop), "null", truth(&shop)]);
    let ahead = shop.choose(
        "timestampdiff(SECOND, created_at, deliver_at) BETWEEN 3599 AND 3601",
        "(deliver_at - created_at BETWEEN interval '3599 s' AND interval '3601 s')",
        "(deliver_at - created_at BETWEEN 3599000000 AND 3601000000)",
    );
    let untruth = shop.choose("0", "false", "0");
    assert_eq!(texts(&shop.db, ahead).await, [truth(&shop), "null", untruth]);
    let micros = shop.choose(
        "timestampdiff(MICROSECOND, '1970-01-01', deliver_at)",
        "(extract(epoch FROM deliver_at) * 1000000)::bigint",
        "deliver_at",
    );
    assert_eq!(texts(&shop.db, micros).await[2], "1900000000123456");
}

/// Not from the beginning of the transaction, and the same instant in both columns.
async fn a_delay_counts_from_the_databases_clock_at_the_statement(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();
    let _begun = rows(&txn, "SELECT 1").await;

    txn.stage(ReportRequested.after(Duration::from_hours(1))).await.unwrap();

    assert_eq!(texts(&txn, "available_at = deliver_at").await, [truth(&shop)]);
    let (from_transaction, from_row) = shop.choose(
        (
            "microsecond(deliver_at) = microsecond(available_at)",
            "abs(timestampdiff(SECOND, created_at, deliver_at) - 3600) <= 1",
        ),
        (
            "deliver_at - interval '1 hour' > transaction_timestamp()",
            "created_at - (deliver_at - interval '1 hour') BETWEEN interval '-1 s' AND interval '1 s'",
        ),
        ("typeof(deliver_at) = 'integer'", "abs(deliver_at - 3600000000 - created_at) <= 1000000"),
    );
    assert_eq!(texts(&txn, from_transaction).await, [truth(&shop)]);
    assert_eq!(texts(&txn, from_row).await, [truth(&shop)]);
    txn.commit().await.unwrap();
}

async fn a_delay_without_end_is_stored_as_a_far_instant(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();

    txn.stage(ReportRequested.after(Duration::MAX)).await.unwrap();

    let far = shop.choose(
        "available_at > utc_timestamp() + interval 900 year",
        "available_at > now() + interval '900 years'",
        "typeof(available_at) = 'integer' AND available_at > created_at + 28000000000000000",
    );
    assert_eq!(texts(&txn, far).await, [truth(&shop)]);
    txn.commit().await.unwrap();
}

fn truth(shop: &TestDatabase) -> &'static str {
    shop.choose("1", "true", "1")
}
