//! Saves of a whole tree.

use sea_orm::{ActiveModelTrait, ConnectionTrait, IntoActiveModel, Set, TransactionTrait};

use crate::database::{TestDatabase, count};
use crate::on_all;
use crate::shop::{line, order};
use crate::staged::types;

on_all!(nested:
    a_failing_child_takes_the_parents_events_along,
    a_nested_save_in_a_transaction_stages_for_parent_and_children,
    a_nested_save_on_a_plain_connection_opens_its_own_transaction,
    a_row_that_brings_what_it_belongs_to_stages_for_both,
    an_update_of_a_tree_stages_for_each_changed_row,
);

fn order_with_lines() -> order::ActiveModelEx {
    order::ActiveModel::builder()
        .set_total(100)
        .add_line(line::ActiveModel::builder().set_sku("A1"))
        .add_line(line::ActiveModel::builder().set_sku("B2"))
}

const ALL: [&str; 3] = ["orders.order_placed", "orders.line_added", "orders.line_added"];

async fn a_nested_save_in_a_transaction_stages_for_parent_and_children(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();

    order_with_lines().insert(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(types(&shop.db).await, ALL);
    assert_eq!(count(&shop.db, "order_lines").await, 2);
}

/// The row that it belongs to is saved first.
async fn a_row_that_brings_what_it_belongs_to_stages_for_both(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();
    let order = order::ActiveModel::builder().set_total(100);

    let line = line::ActiveModel::builder().set_sku("A1").set_order(order);
    line.insert(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(types(&shop.db).await, ["orders.order_placed", "orders.line_added"]);
}

async fn an_update_of_a_tree_stages_for_each_changed_row(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();
    let order = order_with_lines().insert(&txn).await.unwrap();

    let mut order = order.into_active_model();
    order.total = Set(80);
    order.lines.append(line::ActiveModel::builder().set_sku("C3"));
    order.save(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(types(&shop.db).await[3..], ["orders.repriced", "orders.line_added"]);
}

async fn a_nested_save_on_a_plain_connection_opens_its_own_transaction(shop: TestDatabase) {
    order_with_lines().insert(&shop.db).await.unwrap();

    assert_eq!(types(&shop.db).await, ALL);
}

async fn a_failing_child_takes_the_parents_events_along(shop: TestDatabase) {
    shop.db.execute_unprepared("CREATE UNIQUE INDEX one_sku ON order_lines (sku)").await.unwrap();
    let txn = shop.db.begin().await.unwrap();
    let first = order::ActiveModel { total: Set(1), ..Default::default() };
    let first = first.insert(&txn).await.unwrap();
    let taken =
        line::ActiveModel { order_id: Set(first.id), sku: Set("B2".into()), ..Default::default() };
    taken.insert(&txn).await.unwrap();
    txn.commit().await.unwrap();

    order_with_lines().insert(&shop.db).await.unwrap_err();

    assert_eq!(types(&shop.db).await, ["orders.order_placed", "orders.line_added"]);
    assert_eq!(count(&shop.db, "orders").await, 1);
}
