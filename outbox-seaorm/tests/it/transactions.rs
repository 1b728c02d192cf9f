//! Rows and events share the fate of their transaction.

use outbox_seaorm::Stage;
use sea_orm::{ActiveModelTrait, DbErr, TransactionError, TransactionTrait};

use crate::database::{TestDatabase, count};
use crate::on_all;
use crate::shop::{ReportRequested, new_order};
use crate::staged::{payloads, types};

on_all!(transactions:
    a_closure_commits_or_rolls_back_both,
    a_dropped_transaction_leaves_nothing,
    a_released_savepoint_keeps_its_events,
    a_rolled_back_savepoint_takes_its_events_along,
    a_rolled_back_transaction_leaves_nothing,
    a_row_saved_outside_of_an_open_savepoint_goes_with_it,
    one_connection_is_enough,
);

/// The totals of the orders whose events are staged, which are those of the orders that are there.
async fn totals(shop: &TestDatabase) -> Vec<i64> {
    let payloads = payloads(&shop.db).await;
    let total = |payload: &String| {
        let (_, total) = payload.split_once(r#""total":"#).unwrap();
        total.trim_end_matches('}').parse().unwrap()
    };
    let totals: Vec<i64> = payloads.iter().map(total).collect();
    assert_eq!(count(&shop.db, "orders").await, i64::try_from(totals.len()).unwrap());
    totals
}

async fn a_rolled_back_transaction_leaves_nothing(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();
    new_order(1).insert(&txn).await.unwrap();
    txn.stage(ReportRequested).await.unwrap();

    txn.rollback().await.unwrap();

    assert_eq!(totals(&shop).await, [0; 0]);
}

async fn a_dropped_transaction_leaves_nothing(shop: TestDatabase) {
    let db = shop.pool(1).await;
    let txn = db.begin().await.unwrap();
    new_order(1).insert(&txn).await.unwrap();
    txn.stage(ReportRequested).await.unwrap();

    drop(txn);

    // The one connection of the pool: what was open on it has ended before this answers.
    assert_eq!(types(&db).await, [""; 0]);
    assert_eq!(totals(&shop).await, [0; 0]);
}

async fn a_rolled_back_savepoint_takes_its_events_along(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();
    new_order(1).insert(&txn).await.unwrap();

    let savepoint = txn.begin().await.unwrap();
    new_order(2).insert(&savepoint).await.unwrap();
    savepoint.rollback().await.unwrap();
    let savepoint = txn.begin().await.unwrap();
    new_order(3).insert(&savepoint).await.unwrap();
    drop(savepoint);
    new_order(4).insert(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(totals(&shop).await, [1, 4]);
}

async fn a_released_savepoint_keeps_its_events(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();
    let savepoint = txn.begin().await.unwrap();
    new_order(1).insert(&savepoint).await.unwrap();
    savepoint.commit().await.unwrap();

    new_order(2).insert(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(totals(&shop).await, [1, 2]);
}

/// The database puts the row into the innermost savepoint, whichever handle saves it.
async fn a_row_saved_outside_of_an_open_savepoint_goes_with_it(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();
    let savepoint = txn.begin().await.unwrap();

    new_order(1).insert(&txn).await.unwrap();
    savepoint.rollback().await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(totals(&shop).await, [0; 0]);
}

async fn one_connection_is_enough(shop: TestDatabase) {
    let db = shop.pool(1).await;

    let txn = db.begin().await.unwrap();
    let placed = new_order(1).insert(&txn).await.unwrap();
    crate::shop::known(&placed).delete(&txn).await.unwrap();
    txn.stage(ReportRequested).await.unwrap();
    txn.commit().await.unwrap();

    let expected = ["orders.order_placed", "orders.cancelled", "reports.requested"];
    assert_eq!(types(&shop.db).await, expected);
}

async fn a_closure_commits_or_rolls_back_both(shop: TestDatabase) {
    let order = |total, then: Result<(), DbErr>| {
        let db = shop.db.clone();
        async move {
            db.transaction(|txn| {
                Box::pin(async move {
                    new_order(total).insert(txn).await?;
                    then
                })
            })
            .await
        }
    };

    order(1, Ok(())).await.unwrap();
    let refused = order(2, Err(DbErr::RecordNotInserted)).await;

    assert!(matches!(refused, Err(TransactionError::Transaction(DbErr::RecordNotInserted))));
    assert_eq!(totals(&shop).await, [1]);
}
