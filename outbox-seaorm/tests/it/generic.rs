//! Services and repositories that do not name their connection, and closures.

use outbox_seaorm::{Emit, OutboxError, Stage};
use sea_orm::{
    ActiveModelTrait, ConnectionTrait, DatabaseTransaction, DbErr, EntityTrait, IsolationLevel,
    TransactionError, TransactionSession, TransactionTrait,
};

use crate::database::{TestDatabase, count};
use crate::on_all;
use crate::shop::{ReportRequested, StockReserved, known, new_order, new_stock, order};
use crate::staged::types;

on_all!(generic:
    a_repository_over_any_connection_stages_where_that_is_a_transaction,
    a_repository_that_begins_for_itself_never_parts_row_and_event,
    a_service_over_whatever_begins_uses_every_form,
    an_async_closure_commits_or_rolls_back_both,
    closures_within_closures_are_savepoints,
);

/// A repository, as applications write it: hooks ask for nothing more.
async fn add<C: ConnectionTrait>(db: &C, total: i64) -> Result<order::Model, DbErr> {
    new_order(total).insert(db).await
}

async fn a_repository_over_any_connection_stages_where_that_is_a_transaction(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();
    add(&txn, 1).await.unwrap();
    let savepoint = txn.begin().await.unwrap();
    add(&savepoint, 2).await.unwrap();
    savepoint.commit().await.unwrap();
    txn.commit().await.unwrap();

    let refused = add(&shop.db, 3).await.unwrap_err();

    assert!(matches!(OutboxError::of(&refused), Some(OutboxError::Refused { .. })), "{refused}");
    assert_eq!(types(&shop.db).await, ["orders.order_placed"; 2]);
    assert_eq!(count(&shop.db, "orders").await, 2);
}

/// A service that can be given a connection or a transaction.
async fn serve<T: TransactionTrait>(db: &T) -> Result<(), DbErr> {
    let txn = db.begin().await?;
    let placed = add(&txn, 1).await?;
    new_stock("A1", 1)
        .emit_with(|row| StockReserved { sku: row.sku.clone(), quantity: row.quantity })
        .insert(&txn)
        .await?;
    remove(&txn, &placed).await?;
    txn.commit().await
}

/// A step of it, inside of the transaction.
async fn remove<C>(txn: &C, placed: &order::Model) -> Result<(), DbErr>
where
    C: ConnectionTrait + TransactionSession,
{
    known(placed).emit(ReportRequested).delete(txn).await?;
    txn.stage_all([ReportRequested, ReportRequested]).await
}

async fn a_service_over_whatever_begins_uses_every_form(shop: TestDatabase) {
    serve(&shop.db).await.unwrap();
    let txn = shop.db.begin().await.unwrap();
    serve(&txn).await.unwrap();
    txn.commit().await.unwrap();
    let txn = shop.db.begin().await.unwrap();
    serve(&txn).await.unwrap();
    txn.rollback().await.unwrap();

    let once = [
        "orders.order_placed",
        "stock.reserved",
        "orders.cancelled",
        "reports.requested",
        "reports.requested",
        "reports.requested",
    ];
    assert_eq!(types(&shop.db).await, once.repeat(2));
}

/// It was given the pool inside of somebody's transaction, and does not follow that one's fate.
/// What it wrote and what it staged still share theirs.
async fn a_repository_that_begins_for_itself_never_parts_row_and_event(shop: TestDatabase) {
    if shop.url.starts_with("sqlite") {
        // Otherwise a file takes no second writer while somebody reads.
        shop.db.execute_unprepared("PRAGMA journal_mode = WAL").await.unwrap();
    }
    let outer = shop.db.begin().await.unwrap();
    let _seen = order::Entity::find().all(&outer).await.unwrap();

    serve(&shop.db).await.unwrap();
    outer.rollback().await.unwrap();

    assert_eq!(count(&shop.db, "stock").await, 1);
    assert_eq!(types(&shop.db).await.len(), 6);
}

async fn an_async_closure_commits_or_rolls_back_both(shop: TestDatabase) {
    let place = async |total: i64, then: Result<(), DbErr>| {
        shop.db
            .transaction_async(async |txn: &DatabaseTransaction| {
                add(txn, total).await?;
                txn.stage(ReportRequested).await?;
                then
            })
            .await
    };

    place(1, Ok(())).await.unwrap();
    let refused = place(2, Err(DbErr::RecordNotInserted)).await;

    assert!(matches!(refused, Err(TransactionError::Transaction(DbErr::RecordNotInserted))));
    assert_eq!(types(&shop.db).await, ["orders.order_placed", "reports.requested"]);
    assert_eq!(count(&shop.db, "orders").await, 1);
}

/// The inner one fails, the outer one goes on.
async fn closures_within_closures_are_savepoints(shop: TestDatabase) {
    let isolation = Some(IsolationLevel::Serializable);
    let outer = shop.db.transaction_with_config::<_, (), DbErr>(
        |txn| {
            Box::pin(async move {
                add(txn, 1).await?;
                let inner = txn.transaction::<_, (), DbErr>(|txn| {
                    Box::pin(async move {
                        add(txn, 2).await?;
                        Err(DbErr::RecordNotInserted)
                    })
                });
                assert!(inner.await.is_err());
                add(txn, 3).await.map(drop)
            })
        },
        isolation,
        None,
    );
    outer.await.unwrap();

    assert_eq!(types(&shop.db).await, ["orders.order_placed"; 2]);
    assert_eq!(count(&shop.db, "orders WHERE total IN (1, 3)").await, 2);
}
