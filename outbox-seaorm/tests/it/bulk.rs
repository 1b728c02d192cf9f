//! Many events in one call.

use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};

use outbox_seaorm::{OutboxEvent, RaisedEvents, Stage};
use sea_orm::sea_query::Value;
use sea_orm::{DatabaseConnection, TransactionTrait};
use serde::Serialize;

use crate::database::TestDatabase;
use crate::on_all;
use crate::shop::{OrderPlaced, ReportRequested, Unserializable};
use crate::staged::{payloads, texts, types};

on_all!(bulk:
    a_large_event_is_staged_among_small_ones_in_order,
    a_thousand_events_are_few_statements_in_their_order,
    a_thousand_events_are_staged_or_none_of_them,
    large_events_are_told_apart_by_their_bytes,
);

/// How many bytes each insert bound.
type Inserts = Arc<Mutex<Vec<usize>>>;

/// A pool that notes what each insert into the outbox binds.
async fn measured(shop: &TestDatabase) -> (DatabaseConnection, Inserts) {
    let mut db = shop.pool(1).await;
    let inserts = Inserts::default();
    let noted = Arc::clone(&inserts);
    db.set_metric_callback(move |info| {
        if info.statement.sql.contains("outbox_message") {
            let values = info.statement.values.iter().flat_map(|values| &values.0);
            noted.lock().unwrap().push(values.map(bound).sum());
        }
    });
    (db, inserts)
}

/// What a value takes on the line: its length in four bytes, and itself.
fn bound(value: &Value) -> usize {
    const LENGTH: usize = 4;
    LENGTH
        + match value {
            // The array's own head is longer than that of a value.
            Value::Array(_, Some(values)) => 20 + values.iter().map(bound).sum::<usize>(),
            Value::Bytes(Some(bytes)) => bytes.len(),
            Value::String(Some(text)) => text.len(),
            Value::SmallInt(Some(_)) => 2,
            Value::Int(Some(_)) => 4,
            Value::BigInt(Some(_)) | Value::ChronoDateTimeUtc(Some(_)) => 8,
            Value::ChronoDateTime(Some(_)) => 11,
            Value::Uuid(Some(_)) => 16,
            absent if *absent == absent.as_null() => 0,
            other => panic!("nothing binds {other:?}"),
        }
}

/// One record of TLS, beyond which a statement waits for the other side.
const RECORD: usize = 16 * 1024;

/// What one call with so many events of one size has bound. Only a file takes all at once.
fn assert_few(shop: &TestDatabase, inserts: &Inserts, over_a_network: RangeInclusive<usize>) {
    let inserts = inserts.lock().unwrap();
    if shop.url.starts_with("sqlite") {
        assert_eq!(inserts.len(), 1, "{inserts:?}");
        return;
    }
    assert!(over_a_network.contains(&inserts.len()), "{inserts:?}");
    assert!(inserts.iter().all(|bytes| *bytes <= RECORD), "{inserts:?}");
}

/// An event whose payload takes about so many bytes.
#[derive(Serialize, OutboxEvent)]
#[outbox(type = "documents.scanned", topic = "documents", key = number)]
struct Scanned {
    number: usize,
    page: String,
}

fn scanned(number: usize, bytes: usize) -> Scanned {
    Scanned { number, page: "x".repeat(bytes) }
}

async fn a_thousand_events_are_few_statements_in_their_order(shop: TestDatabase) {
    let (db, inserts) = measured(&shop).await;
    let txn = db.begin().await.unwrap();

    txn.stage_all((0..1_000).map(|order_id| OrderPlaced { order_id, total: 1 })).await.unwrap();
    txn.commit().await.unwrap();

    let keys: Vec<String> = (0..1_000).map(|id| id.to_string()).collect();
    assert_eq!(texts(&shop.db, "ordering_key").await, keys);
    assert_few(&shop, &inserts, 10..=30);
}

/// Each has half of what one statement takes, or more.
async fn large_events_are_told_apart_by_their_bytes(shop: TestDatabase) {
    let (db, inserts) = measured(&shop).await;
    let txn = db.begin().await.unwrap();

    txn.stage_all((0..10).map(|number| scanned(number, 8_000))).await.unwrap();
    txn.commit().await.unwrap();

    let keys: Vec<String> = (0..10).map(|number| number.to_string()).collect();
    assert_eq!(texts(&shop.db, "partition_key").await, keys);
    assert_few(&shop, &inserts, 5..=10);
}

async fn a_large_event_is_staged_among_small_ones_in_order(shop: TestDatabase) {
    let (db, inserts) = measured(&shop).await;
    let sizes = [10, 20, 100_000, 30, 40];
    let txn = db.begin().await.unwrap();

    txn.stage_all(sizes.into_iter().enumerate().map(|(number, bytes)| scanned(number, bytes)))
        .await
        .unwrap();
    txn.stage(scanned(5, 100_000)).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(texts(&shop.db, "partition_key").await, ["0", "1", "2", "3", "4", "5"]);
    let large = format!(r#"{{"number":2,"page":"{}"}}"#, "x".repeat(100_000));
    assert_eq!(payloads(&shop.db).await[2], large);
    let inserts: Vec<bool> = inserts.lock().unwrap().iter().map(|bytes| *bytes > RECORD).collect();
    // What is small, the large one by itself, what is small; and the second call's.
    let over_a_network: &[bool] = &[false, true, false, true];
    let file = shop.url.starts_with("sqlite");
    assert_eq!(inserts, if file { &[true, true] } else { over_a_network });
}

async fn a_thousand_events_are_staged_or_none_of_them(shop: TestDatabase) {
    let mut raised = RaisedEvents::new();
    for order_id in 0..1_000 {
        raised.raise(OrderPlaced { order_id, total: 1 });
        if order_id == 500 {
            raised.raise(Unserializable::new());
        }
    }
    let (db, inserts) = measured(&shop).await;
    let txn = db.begin().await.unwrap();

    let error = txn.stage_all(raised).await.unwrap_err();
    let sent = inserts.lock().unwrap().len();
    txn.stage(ReportRequested).await.unwrap();
    txn.commit().await.unwrap();

    assert!(error.to_string().contains("reports.unserializable"), "{error}");
    assert_eq!(sent, 0);
    assert_eq!(types(&shop.db).await, ["reports.requested"]);
}
