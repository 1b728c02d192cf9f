//! Mistakes of the application around a save, and what is left of it then.

use outbox_seaorm::{Emit, OutboxSettings, RaisedEvents, Stage, scope};
use sea_orm::{
    ActiveModelTrait, ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbErr,
    IntoActiveModel, Schema, Set, TransactionTrait,
};

use crate::database::{SOURCE, TestDatabase, count};
use crate::on_all;
use crate::shop::{
    ReportRequested, StockReserved, known, line, new_order, new_stock, order, stock,
};
use crate::staged::types;

on_all!(faults:
    a_failed_save_that_is_swallowed_leaves_no_event,
    a_panic_in_a_hook_leaves_nothing_behind,
    a_panic_of_the_aggregate_leaves_nothing_behind,
    a_swallowed_error_of_an_event_that_does_not_encode_commits_the_row_alone,
    a_swallowed_error_of_the_staging_statement_commits_what_the_database_keeps,
    no_form_of_staging_takes_a_second_connection,
);

fn reserved(row: &stock::Model) -> StockReserved {
    StockReserved { sku: row.sku.clone(), quantity: row.quantity }
}

/// The pool has one connection, which the transaction holds: to wait for another is to wait until
/// the pool gives up.
async fn no_form_of_staging_takes_a_second_connection(shop: TestDatabase) {
    let db = shop.pool(1).await;
    let mut raised = RaisedEvents::new();
    raised.raise(ReportRequested);

    let txn = db.begin().await.unwrap();
    with_hooks(&txn).await;
    new_stock("A1", 1).emit_with(reserved).insert(&txn).await.unwrap();
    let row = stock::ActiveModel { id: Set(1), quantity: Set(3), ..Default::default() };
    row.emit_with(reserved).emit(ReportRequested).update(&txn).await.unwrap();
    let key = stock::ActiveModel { id: Set(1), ..Default::default() };
    key.emit_with(reserved).delete(&txn).await.unwrap();
    let savepoint = txn.begin().await.unwrap();
    savepoint.stage_all(raised).await.unwrap();
    savepoint.stage(ReportRequested).await.unwrap();
    savepoint.commit().await.unwrap();
    txn.commit().await.unwrap();

    let expected = [
        &["orders.order_placed", "orders.repriced", "orders.cancelled"][..],
        &["orders.order_placed", "orders.line_added"],
        &["stock.reserved", "stock.reserved", "reports.requested", "stock.reserved"],
        &["reports.requested", "reports.requested"],
    ];
    assert_eq!(types(&db).await, expected.concat());
}

/// Each kind of write, the delete by its key alone, and a nested save.
async fn with_hooks(txn: &DatabaseTransaction) {
    let placed = new_order(1).insert(txn).await.unwrap();
    let mut change = known(&placed);
    change.total = Set(2);
    change.save(txn).await.unwrap();
    order::ActiveModel { id: Set(placed.id), ..Default::default() }.delete(txn).await.unwrap();
    order::ActiveModel::builder()
        .set_total(3)
        .add_line(line::ActiveModel::builder().set_sku("A1"))
        .insert(txn)
        .await
        .unwrap();
}

/// PostgreSQL rolls the transaction back and answers its commit with yes; SQLite goes on.
async fn a_failed_save_that_is_swallowed_leaves_no_event(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();
    let placed = new_order(1).insert(&txn).await.unwrap();

    let twin = order::ActiveModel { id: Set(placed.id), ..new_order(2) };
    let _swallowed = twin.insert(&txn).await.unwrap_err();
    txn.commit().await.unwrap();

    let kept = usize::from(!shop.is_postgres());
    assert_eq!(types(&shop.db).await, vec!["orders.order_placed"; kept]);
    assert_eq!(count(&shop.db, "orders").await, i64::try_from(kept).unwrap());
}

/// The database has heard of no error, so that it keeps the row. The text of the error says so.
async fn a_swallowed_error_of_an_event_that_does_not_encode_commits_the_row_alone(
    shop: TestDatabase,
) {
    let txn = shop.db.begin().await.unwrap();
    new_order(1).insert(&txn).await.unwrap();

    let swallowed = new_order(13).insert(&txn).await.unwrap_err();
    txn.commit().await.unwrap();

    assert!(swallowed.to_string().ends_with("without its events, roll it back"), "{swallowed}");
    assert_eq!(types(&shop.db).await, ["orders.order_placed"]);
    assert_eq!(count(&shop.db, "orders").await, 2);
}

/// As [`a_failed_save_that_is_swallowed_leaves_no_event`], but on SQLite the row is there.
async fn a_swallowed_error_of_the_staging_statement_commits_what_the_database_keeps(
    shop: TestDatabase,
) {
    shop.db.execute_unprepared("ALTER TABLE outbox_message DROP COLUMN tracestate").await.unwrap();
    let txn = shop.db.begin().await.unwrap();

    let swallowed = new_order(1).insert(&txn).await.unwrap_err();
    txn.commit().await.unwrap();

    assert!(swallowed.to_string().ends_with("without its events, roll it back"), "{swallowed}");
    assert_eq!(types(&shop.db).await, [""; 0]);
    assert_eq!(count(&shop.db, "orders").await, i64::from(!shop.is_postgres()));
}

/// An aggregate that panics where its label says.
mod fuse {
    use outbox_seaorm::{Change, Events, OutboxAggregate, OutboxError, outbox_hooks};
    use sea_orm::entity::prelude::*;

    use crate::shop::ReportRequested;

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "fuses")]
    pub(crate) struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub id: i32,
        pub label: String,
    }

    fn blow(label: Option<&String>, place: &str) {
        assert!(label.is_none_or(|label| label != place), "the fuse blows in {place}");
    }

    #[outbox_hooks]
    impl ActiveModelBehavior for ActiveModel {
        async fn before_save<C: ConnectionTrait>(self, _: &C, _: bool) -> Result<Self, DbErr> {
            blow(self.label.try_as_ref(), "before_save");
            Ok(self)
        }

        async fn after_save<C: ConnectionTrait>(
            model: Model,
            _: &C,
            _: bool,
        ) -> Result<Model, DbErr> {
            blow(Some(&model.label), "after_save");
            Ok(model)
        }

        async fn before_delete<C: ConnectionTrait>(self, _: &C) -> Result<Self, DbErr> {
            blow(self.label.try_as_ref(), "before_delete");
            Ok(self)
        }

        async fn after_delete<C: ConnectionTrait>(self, _: &C) -> Result<Self, DbErr> {
            blow(self.label.try_as_ref(), "after_delete");
            Ok(self)
        }
    }

    impl OutboxAggregate for ActiveModel {
        fn outbox_events(change: Change<'_, Self>, out: &mut Events) -> Result<(), OutboxError> {
            out.push(ReportRequested)?;
            blow(Some(&change.model().label), "outbox_events");
            Ok(())
        }
    }
}

async fn a_panic_in_a_hook_leaves_nothing_behind(shop: TestDatabase) {
    let db = with_fuse(&shop).await;
    for place in ["before_save", "after_save"] {
        assert_blows(&db, fuse(2, place), Write::Insert).await;
        assert_blows(&db, fuse(1, place), Write::Update).await;
    }
    for place in ["before_delete", "after_delete"] {
        assert_blows(&db, fuse(1, place), Write::Delete).await;
    }

    assert_usable(&db).await;
}

async fn a_panic_of_the_aggregate_leaves_nothing_behind(shop: TestDatabase) {
    let db = with_fuse(&shop).await;
    assert_blows(&db, fuse(2, "outbox_events"), Write::Insert).await;
    assert_blows(&db, fuse(1, "outbox_events"), Write::Update).await;
    // A delete tells of the row as it was.
    let label = "UPDATE fuses SET label = 'outbox_events'";
    db.execute_unprepared(label).await.unwrap();
    assert_blows(&db, fuse(1, ""), Write::Delete).await;
    db.execute_unprepared("UPDATE fuses SET label = 'whole'").await.unwrap();

    assert_usable(&db).await;
}

#[derive(Clone, Copy, Debug)]
enum Write {
    Delete,
    Insert,
    Update,
}

fn fuse(id: i32, label: &str) -> fuse::ActiveModel {
    fuse::ActiveModel { id: Set(id), label: Set(label.to_owned()) }
}

/// A pool of one connection on a database with a whole fuse of number 1.
async fn with_fuse(shop: &TestDatabase) -> DatabaseConnection {
    let schema = Schema::new(shop.db.get_database_backend());
    shop.db.execute(&schema.create_table_from_entity(fuse::Entity)).await.unwrap();
    let whole = "INSERT INTO fuses (id, label) VALUES (1, 'whole')";
    shop.db.execute_unprepared(whole).await.unwrap();
    shop.pool(1).await
}

/// The transaction is dropped by the panic, as in a web server's handler.
async fn assert_blows(db: &DatabaseConnection, fuse: fuse::ActiveModel, write: Write) {
    let pool = db.clone();
    let request = scope(OutboxSettings::new(SOURCE), async move {
        let txn = pool.begin().await?;
        txn.stage(ReportRequested).await?;
        match write {
            Write::Delete => fuse.delete(&txn).await.map(drop)?,
            Write::Insert => fuse.insert(&txn).await.map(drop)?,
            Write::Update => fuse.update(&txn).await.map(drop)?,
        }
        txn.commit().await
    });

    let ended: Result<Result<(), DbErr>, _> = tokio::spawn(request).await;

    assert!(ended.unwrap_err().is_panic(), "{write:?}");
    assert_eq!(types(db).await, [""; 0], "{write:?}");
    assert_eq!(count(db, "fuses").await, 1, "{write:?}");
}

/// The same rows are written again, on the connection that the panics left.
async fn assert_usable(db: &DatabaseConnection) {
    let txn = db.begin().await.unwrap();
    fuse(2, "new").insert(&txn).await.unwrap();
    fuse(1, "better").update(&txn).await.unwrap();
    // Nothing is assigned, so nothing that was noted before may say otherwise.
    let unchanged = fuse::Model { id: 1, label: "better".to_owned() };
    unchanged.into_active_model().update(&txn).await.unwrap();
    fuse(1, "better").delete(&txn).await.unwrap();
    fuse(3, "missing").delete(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(types(db).await, ["reports.requested"; 3]);
    assert_eq!(count(db, "fuses").await, 1);
}
