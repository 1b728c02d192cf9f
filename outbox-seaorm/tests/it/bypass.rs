//! Writes that stage nothing by themselves: the table at the top of the crate's documentation.
//!
//! Each is an ordinary write of the row, with no event, and with the events that stand beside it.

use outbox_seaorm::{RaisedEvents, Stage};
use sea_orm::sea_query::Expr;
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ConnectionTrait, DatabaseTransaction, EntityTrait, QueryFilter,
    Set, TransactionTrait,
};

use crate::database::{TestDatabase, count};
use crate::on_all;
use crate::shop::{LineAdded, OrderEvent, OrderPlaced, known, line, new_order, order};
use crate::staged::{payloads, types};

on_all!(bypass:
    a_cascade_of_the_database_stages_nothing,
    a_delete_by_key_stages_nothing,
    a_delete_of_many_stages_nothing,
    a_delete_of_the_entity_stages_nothing,
    a_raw_statement_stages_nothing,
    an_insert_of_many_stages_nothing,
    an_insert_of_the_entity_stages_nothing,
    an_update_of_many_stages_nothing,
    an_update_of_the_entity_stages_nothing,
    an_update_without_returning_stages_nothing_and_leaves_nothing_behind,
    another_cascade_than_the_databases_stages,
    events_stand_beside_any_of_them,
);

/// An order of 100, with nothing staged.
async fn bare(shop: &TestDatabase) -> (DatabaseTransaction, order::Model) {
    let txn = shop.db.begin().await.unwrap();
    txn.execute_unprepared("INSERT INTO orders (total) VALUES (100)").await.unwrap();
    let order = order::Entity::find().one(&txn).await.unwrap().unwrap();
    (txn, order)
}

/// How many orders match, and what is staged.
async fn outcome(shop: &TestDatabase, txn: DatabaseTransaction, orders: &str) -> i64 {
    txn.commit().await.unwrap();
    assert_eq!(types(&shop.db).await, [""; 0]);
    count(&shop.db, &format!("orders {orders}")).await
}

async fn an_insert_of_the_entity_stages_nothing(shop: TestDatabase) {
    let (txn, _) = bare(&shop).await;

    order::Entity::insert(new_order(1)).exec(&txn).await.unwrap();

    assert_eq!(outcome(&shop, txn, "WHERE total = 1").await, 1);
}

async fn an_insert_of_many_stages_nothing(shop: TestDatabase) {
    let (txn, _) = bare(&shop).await;

    order::Entity::insert_many([new_order(1), new_order(1)]).exec(&txn).await.unwrap();

    assert_eq!(outcome(&shop, txn, "WHERE total = 1").await, 2);
}

async fn an_update_of_the_entity_stages_nothing(shop: TestDatabase) {
    let (txn, order) = bare(&shop).await;
    let mut change = known(&order);
    change.total = Set(80);

    order::Entity::update(change).exec(&txn).await.unwrap();

    assert_eq!(outcome(&shop, txn, "WHERE total = 80").await, 1);
}

async fn an_update_of_many_stages_nothing(shop: TestDatabase) {
    let (txn, _) = bare(&shop).await;

    let all = order::Entity::update_many();
    all.col_expr(order::Column::Total, Expr::value(80)).exec(&txn).await.unwrap();

    assert_eq!(outcome(&shop, txn, "WHERE total = 80").await, 1);
}

/// The hook before it runs, and notes what no hook after it takes.
async fn an_update_without_returning_stages_nothing_and_leaves_nothing_behind(shop: TestDatabase) {
    let (txn, order) = bare(&shop).await;
    let mut change = known(&order);
    change.total = Set(80);

    change.update_without_returning(&txn).await.unwrap();
    let before = types(&txn).await;
    let mut change = known(&order);
    change.note = Set(Some("ring twice".into()));
    change.update(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(before, [""; 0]);
    assert_eq!(types(&shop.db).await, ["orders.renoted"]);
}

/// It runs the hook before it, and so it is refused where a save is.
#[tokio::test]
async fn an_update_without_returning_is_refused_on_a_plain_connection() {
    crate::database::on_sqlite(async |shop: TestDatabase| {
        let (txn, order) = bare(&shop).await;
        txn.commit().await.unwrap();
        let mut change = known(&order);
        change.total = Set(80);

        change.update_without_returning(&shop.db).await.unwrap_err();

        assert_eq!(count(&shop.db, "orders WHERE total = 100").await, 1);
    })
    .await;
}

async fn a_delete_of_the_entity_stages_nothing(shop: TestDatabase) {
    let (txn, order) = bare(&shop).await;

    order::Entity::delete(known(&order)).exec(&txn).await.unwrap();

    assert_eq!(outcome(&shop, txn, "").await, 0);
}

async fn a_delete_by_key_stages_nothing(shop: TestDatabase) {
    let (txn, order) = bare(&shop).await;

    order::Entity::delete_by_id(order.id).exec(&txn).await.unwrap();

    assert_eq!(outcome(&shop, txn, "").await, 0);
}

async fn a_delete_of_many_stages_nothing(shop: TestDatabase) {
    let (txn, _) = bare(&shop).await;

    let cheap = order::Entity::delete_many().filter(order::Column::Total.lt(1_000));
    cheap.exec(&txn).await.unwrap();

    assert_eq!(outcome(&shop, txn, "").await, 0);
}

async fn a_raw_statement_stages_nothing(shop: TestDatabase) {
    let (txn, _) = bare(&shop).await;

    txn.execute_unprepared("UPDATE orders SET total = 80").await.unwrap();

    assert_eq!(outcome(&shop, txn, "WHERE total = 80").await, 1);
}

/// A table whose rows the database deletes with their order.
async fn with_cascade(shop: &TestDatabase) {
    let table = "CREATE TABLE cascading_lines (
        id integer PRIMARY KEY, order_id integer NOT NULL REFERENCES orders (id) ON DELETE CASCADE)";
    shop.db.execute_unprepared(table).await.unwrap();
}

async fn a_cascade_of_the_database_stages_nothing(shop: TestDatabase) {
    with_cascade(&shop).await;
    let (txn, order) = bare(&shop).await;
    let line = format!("INSERT INTO cascading_lines VALUES (1, {})", order.id);
    txn.execute_unprepared(&line).await.unwrap();

    known(&order).delete(&txn).await.unwrap();
    txn.commit().await.unwrap();

    // The parent's own event, and none of what the database took along.
    assert_eq!(types(&shop.db).await, ["orders.cancelled"]);
    assert_eq!(count(&shop.db, "cascading_lines").await, 0);
}

/// `cascade_delete` deletes child by child, each with its hooks.
async fn another_cascade_than_the_databases_stages(shop: TestDatabase) {
    let (txn, order) = bare(&shop).await;
    let line =
        line::ActiveModel { order_id: Set(order.id), sku: Set("A1".into()), ..Default::default() };
    line::Entity::insert(line).exec(&txn).await.unwrap();

    order.cascade_delete(&txn).await.unwrap();
    txn.commit().await.unwrap();

    // A line tells of its insert alone, so the order's own event is what is seen.
    assert_eq!(types(&shop.db).await, ["orders.cancelled"]);
    assert!(line::Entity::find().all(&shop.db).await.unwrap().is_empty());
}

async fn events_stand_beside_any_of_them(shop: TestDatabase) {
    let (txn, order) = bare(&shop).await;

    order::Entity::insert_many([new_order(1), new_order(2)]).exec(&txn).await.unwrap();
    let rows = order::Entity::find().filter(order::Column::Total.lt(100));
    let rows = rows.all(&txn).await.unwrap();
    let placed = |row: &order::Model| OrderPlaced { order_id: row.id, total: row.total };
    txn.stage_all(rows.iter().map(placed)).await.unwrap();

    let line =
        line::ActiveModel { order_id: Set(order.id), sku: Set("A1".into()), ..Default::default() };
    line::Entity::insert(line).exec(&txn).await.unwrap();
    order::Entity::update_many()
        .col_expr(order::Column::Total, Expr::value(80))
        .filter(order::Column::Id.eq(order.id))
        .exec(&txn)
        .await
        .unwrap();
    let mut raised = RaisedEvents::new();
    raised.raise(LineAdded { order_id: order.id, sku: "A1".into() });
    raised.raise(OrderEvent::Repriced { order_id: order.id, total: 80 });
    txn.stage_all(raised).await.unwrap();

    order::Entity::delete_many().filter(order::Column::Total.eq(1)).exec(&txn).await.unwrap();
    txn.stage(OrderEvent::Cancelled { order_id: rows[0].id, total: 1 }).await.unwrap();
    txn.commit().await.unwrap();

    let staged = [
        "orders.order_placed",
        "orders.order_placed",
        "orders.line_added",
        "orders.repriced",
        "orders.cancelled",
    ];
    assert_eq!(types(&shop.db).await, staged);
    let cancelled = format!(r#"{{"kind":"Cancelled","order_id":{},"total":1}}"#, rows[0].id);
    assert_eq!(payloads(&shop.db).await[4], cancelled);
}
