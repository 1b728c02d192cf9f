//! The test kit tells what is staged.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use outbox_seaorm::testing::{assert_nothing_staged, assert_staged, staged_events};
use outbox_seaorm::{EventExt, OutboxError, OutboxEvent, OutboxSettings, Stage, TableNames, scope};
use sea_orm::{ActiveModelTrait, DatabaseTransaction, Set, TransactionTrait};
use serde::{Deserialize, Serialize};

use crate::database::TestDatabase;
use crate::on_all;
use crate::shop::{self, ReportRequested, known, new_order};

on_all!(kit:
    a_failed_assertion_tells_where_and_what_is_staged,
    an_assertion_about_an_unreadable_outbox_fails,
    an_event_is_found_by_type_and_predicate,
    an_event_of_another_version_is_another_event,
    nothing_staged_is_asserted_too,
    reading_without_settings_names_the_call,
    what_is_staged_is_told_in_order_and_to_its_transaction_alone,
    what_is_staged_is_told_of_the_tables_in_force,
);

/// As a test of an application has it.
#[derive(Debug, PartialEq, Serialize, Deserialize, OutboxEvent)]
#[outbox(type = "orders.order_placed", version = 1, topic = "orders", key = order_id, ordered)]
struct OrderPlaced {
    order_id: i32,
    total: i64,
}

/// The same type and payload, a version later.
#[derive(Debug, PartialEq, Serialize, Deserialize, OutboxEvent)]
#[outbox(type = "orders.order_placed", version = 2, topic = "orders")]
struct OrderPlacedAnew {
    order_id: i32,
    total: i64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, OutboxEvent)]
#[serde(tag = "kind")]
#[outbox(topic = "orders", key = order_id, ordered)]
enum OrderEvent {
    #[outbox(type = "orders.repriced", version = 2)]
    Repriced { order_id: i32, total: i64 },
    #[outbox(type = "orders.cancelled")]
    Cancelled { order_id: i32, total: i64 },
}

/// An order of 100 that is repriced to 80.
async fn repriced(txn: &DatabaseTransaction) -> i32 {
    let order = new_order(100).insert(txn).await.unwrap();
    let mut change = known(&order);
    change.total = Set(80);
    change.update(txn).await.unwrap();
    order.id
}

/// What the future panics with.
async fn panics<F: Future>(asserting: F) -> String
where
    F::Output: std::fmt::Debug,
{
    let panic = AssertUnwindSafe(asserting).catch_unwind().await.unwrap_err();
    *panic.downcast::<String>().unwrap()
}

async fn what_is_staged_is_told_in_order_and_to_its_transaction_alone(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();
    let id = repriced(&txn).await;
    let later = shop::OrderPlaced { order_id: id, total: 1 }.after(Duration::from_mins(1));
    txn.stage(later.with_header("Colour", "red")).await.unwrap();

    let staged = staged_events(&txn).await.unwrap();
    let outside = staged_events(&shop.db).await.unwrap();
    txn.rollback().await.unwrap();
    let after = staged_events(&shop.db).await.unwrap();

    let types: Vec<&str> = staged.iter().map(|event| &*event.message.event_type).collect();
    assert_eq!(types, ["orders.order_placed", "orders.repriced", "orders.order_placed"]);
    let last = &staged[2].message;
    assert_eq!(last.ordering_key, Some(id.to_string()));
    assert_eq!(last.headers.iter().collect::<Vec<_>>(), [("Colour", "red")]);
    assert_eq!((staged[1].message.deliver_at, last.deliver_at.is_some()), (None, true));
    assert_eq!(staged[0].event(), Some(OrderPlaced { order_id: id, total: 100 }));
    assert_eq!(staged[0].event::<OrderEvent>(), None);
    assert_eq!((outside.len(), after.len()), (0, 0));
}

async fn what_is_staged_is_told_of_the_tables_in_force(shop: TestDatabase) {
    let schema = shop.is_postgres().then_some("mail");
    let tables = TableNames::new(schema, "Second_").unwrap();
    outbox_migration::migrate_with(&shop.db, &tables).await.unwrap();
    let second = OutboxSettings::new("urn:shop:second").tables(tables);
    let txn = shop.db.begin().await.unwrap();

    txn.stage(ReportRequested).await.unwrap();
    let inside = scope(second, async { staged_events(&txn).await.unwrap().len() }).await;

    assert_eq!((inside, staged_events(&txn).await.unwrap().len()), (0, 1));
}

async fn an_event_is_found_by_type_and_predicate(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();
    new_order(7).insert(&txn).await.unwrap();
    let id = repriced(&txn).await;

    let placed = assert_staged::<OrderPlaced, _>(&txn, |event| event.total > 7).await;
    let repriced = assert_staged(&txn, |event: &OrderEvent| {
        matches!(event, OrderEvent::Repriced { total: 80, .. })
    })
    .await;

    assert_eq!(placed, OrderPlaced { order_id: id, total: 100 });
    assert_eq!(repriced, OrderEvent::Repriced { order_id: id, total: 80 });
}

async fn an_event_of_another_version_is_another_event(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();
    repriced(&txn).await;

    let message = panics(assert_staged::<OrderPlacedAnew, _>(&txn, |_| true)).await;

    assert!(message.contains("not it: its type or version is another"), "{message}");
}

async fn a_failed_assertion_tells_where_and_what_is_staged(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();
    let id = repriced(&txn).await;
    txn.stage(ReportRequested).await.unwrap();

    let line = line!() + 1;
    let message = panics(assert_staged::<OrderPlaced, _>(&txn, |event| event.total == 7)).await;

    let expected = format!(
        "{file}:{line}:26: no `{it}` that satisfies the predicate is staged; staged is
  orders.order_placed v1, topic orders, key {id}, ordered: {{\"order_id\":{id},\"total\":100}}
    not it: it does not satisfy the predicate
  orders.repriced v2, topic orders, key {id}, ordered: \
         {{\"kind\":\"Repriced\",\"order_id\":{id},\"total\":80}}
    not it: its type or version is another
  reports.requested v1, topic reports: null
    not it: invalid type: null, expected struct OrderPlaced at line 1 column 4",
        file = file!(),
        it = std::any::type_name::<OrderPlaced>(),
    );
    assert_eq!(message, expected);
}

async fn nothing_staged_is_asserted_too(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();

    assert_nothing_staged(&txn).await;
    let nothing = panics(assert_staged::<OrderPlaced, _>(&txn, |_| true)).await;
    txn.stage(ReportRequested).await.unwrap();
    let something = panics(assert_nothing_staged(&txn)).await;

    assert!(nothing.ends_with("is staged; nothing is"), "{nothing}");
    assert!(something.starts_with(file!()), "{something}");
    assert!(something.ends_with("staged is\n  reports.requested v1, topic reports: null"));
}

async fn an_assertion_about_an_unreadable_outbox_fails(shop: TestDatabase) {
    let nowhere = TableNames::new(None, "nowhere_").unwrap();
    let nowhere = OutboxSettings::new("urn:shop").tables(nowhere);

    let message = scope(nowhere, panics(assert_nothing_staged(&shop.db))).await;

    assert!(message.contains("the outbox cannot be read: "), "{message}");
    assert!(message.contains("nowhere_message"), "{message}");
}

/// A spawned future has left the scope, and nothing is installed in this process.
async fn reading_without_settings_names_the_call(shop: TestDatabase) {
    let db = shop.db.clone();

    let read = tokio::spawn(async move { staged_events(&db).await }).await.unwrap();

    let error = read.unwrap_err();
    assert!(matches!(OutboxError::of(&error), Some(OutboxError::NotInstalled)), "{error}");
}
