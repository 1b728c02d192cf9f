//! Saves and deletes of an aggregate stage its events.

use sea_orm::{ActiveModelTrait, ConnectionTrait, EntityTrait, Set, TransactionTrait};

use crate::database::{TestDatabase, count};
use crate::on_all;
use crate::shop::{known, new_order, order, prevent_deletes};
use crate::staged::{payloads, types};

on_all!(hooks:
    a_column_set_to_the_value_it_had_counts_as_changed,
    a_delete_by_key_alone_stages_the_whole_row,
    a_delete_of_a_missing_row_stages_nothing,
    a_delete_that_a_trigger_prevents_is_announced,
    a_failed_delete_leaves_nothing_for_the_next,
    a_failed_update_leaves_nothing_for_the_next,
    a_save_inserts_or_updates,
    all_events_of_one_save_are_one_statement,
    an_insert_stages_with_the_generated_id,
    an_update_stages_what_it_changed,
    an_update_that_assigns_nothing_stages_nothing,
    bulk_writes_stage_nothing,
);

async fn an_insert_stages_with_the_generated_id(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();

    let placed = new_order(100).insert(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert!(placed.id > 0);
    let expected = format!(r#"{{"order_id":{},"total":100}}"#, placed.id);
    assert_eq!(payloads(&shop.db).await, [expected]);
    assert_eq!(count(&shop.db, "orders").await, 1);
}

async fn an_update_stages_what_it_changed(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();
    let placed = new_order(100).insert(&txn).await.unwrap();

    let mut change = known(&placed);
    change.note = Set(Some("ring twice".into()));
    let noted = change.update(&txn).await.unwrap();
    let mut change = known(&noted);
    change.total = Set(80);
    change.update(&txn).await.unwrap();
    txn.commit().await.unwrap();

    let expected = ["orders.order_placed", "orders.renoted", "orders.repriced"];
    assert_eq!(types(&shop.db).await, expected);
    let repriced = format!(r#"{{"kind":"Repriced","order_id":{},"total":80}}"#, placed.id);
    assert_eq!(payloads(&shop.db).await[2], repriced);
}

async fn a_column_set_to_the_value_it_had_counts_as_changed(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();
    let placed = new_order(100).insert(&txn).await.unwrap();

    let mut change = known(&placed);
    change.total = Set(100);
    change.update(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(types(&shop.db).await, ["orders.order_placed", "orders.repriced"]);
}

async fn an_update_that_assigns_nothing_stages_nothing(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();
    let placed = new_order(100).insert(&txn).await.unwrap();

    known(&placed).update(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(types(&shop.db).await, ["orders.order_placed"]);
}

async fn a_delete_by_key_alone_stages_the_whole_row(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();
    let placed = new_order(100).insert(&txn).await.unwrap();

    let key = order::ActiveModel { id: Set(placed.id), ..Default::default() };
    let deleted = key.delete(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(deleted.rows_affected, 1);
    // Locked until the end, so that the row that is told is the row that goes.
    assert_eq!(shop.sent("FOR UPDATE").len(), shop.choose(1, 1, 0));
    let cancelled = format!(r#"{{"kind":"Cancelled","order_id":{},"total":100}}"#, placed.id);
    assert_eq!(payloads(&shop.db).await[1], cancelled);
}

async fn a_delete_of_a_missing_row_stages_nothing(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();

    let key = order::ActiveModel { id: Set(4711), ..Default::default() };
    let deleted = key.delete(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(deleted.rows_affected, 0);
    assert_eq!(types(&shop.db).await, [""; 0]);
}

/// No hook learns how many rows went, as the crate's documentation says.
async fn a_delete_that_a_trigger_prevents_is_announced(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();
    let placed = new_order(100).insert(&txn).await.unwrap();
    txn.commit().await.unwrap();
    prevent_deletes(&shop, "orders").await;
    let txn = shop.db.begin().await.unwrap();

    let deleted = known(&placed).delete(&txn).await;
    txn.commit().await.unwrap();

    // On MariaDB a trigger can prevent only by an error.
    let announced = deleted.is_ok();
    assert_eq!(announced, shop.choose(false, true, true));
    assert_eq!(count(&shop.db, "orders").await, 1);
    assert_eq!(types(&shop.db).await.len(), 1 + usize::from(announced));
}

/// A row with a line cannot be deleted; what the hook noted of it must not survive.
async fn a_failed_delete_leaves_nothing_for_the_next(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();
    let placed = new_order(100).insert(&txn).await.unwrap();
    let line = format!("INSERT INTO order_lines (order_id, sku) VALUES ({}, 'A1')", placed.id);
    txn.execute_unprepared(&line).await.unwrap();
    txn.execute_unprepared("SAVEPOINT before_delete").await.unwrap();

    known(&placed).delete(&txn).await.unwrap_err();
    txn.execute_unprepared("ROLLBACK TO SAVEPOINT before_delete").await.unwrap();
    txn.execute_unprepared("DELETE FROM order_lines").await.unwrap();
    txn.execute_unprepared("DELETE FROM orders").await.unwrap();
    let deleted = known(&placed).delete(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(deleted.rows_affected, 0);
    assert_eq!(types(&shop.db).await, ["orders.order_placed"]);
}

async fn a_failed_update_leaves_nothing_for_the_next(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();
    let missing = order::ActiveModel { id: Set(4711), total: Set(80), ..Default::default() };

    missing.update(&txn).await.unwrap_err();
    txn.execute_unprepared("INSERT INTO orders (id, total) VALUES (4711, 100)").await.unwrap();
    let note = Set(Some("ring twice".into()));
    let change = order::ActiveModel { id: Set(4711), note, ..Default::default() };
    change.update(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(types(&shop.db).await, ["orders.renoted"]);
}

async fn a_save_inserts_or_updates(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();

    let mut saved = new_order(100).save(&txn).await.unwrap();
    saved.total = Set(80);
    saved.save(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(types(&shop.db).await, ["orders.order_placed", "orders.repriced"]);
}

async fn all_events_of_one_save_are_one_statement(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();

    new_order(5_000).insert(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(shop.sent("outbox_message").len(), 1);
    assert_eq!(types(&shop.db).await, ["orders.order_placed", "reports.requested"]);
}

/// The table at the top of the crate's documentation.
async fn bulk_writes_stage_nothing(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();

    order::Entity::insert(new_order(1)).exec(&txn).await.unwrap();
    order::Entity::insert_many([new_order(2), new_order(3)]).exec(&txn).await.unwrap();
    let reprice = order::ActiveModel { total: Set(4), ..Default::default() };
    order::Entity::update_many().set(reprice).exec(&txn).await.unwrap();
    let row = order::Entity::find().one(&txn).await.unwrap().unwrap();
    let mut change = known(&row);
    change.total = Set(5);
    change.update_without_returning(&txn).await.unwrap();
    order::Entity::delete_by_id(row.id).exec(&txn).await.unwrap();
    order::Entity::delete_many().exec(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(types(&shop.db).await, [""; 0]);
}
