//! Events beside the save of an entity without hooks.

use std::error::Error;

use outbox_seaorm::{Emit, OutboxError};
use sea_orm::{ActiveModelTrait, IntoActiveModel, Set, TransactionTrait};

use crate::database::{TestDatabase, count};
use crate::on_all;
use crate::shop::{ReportRequested, StockReserved, Unserializable, known, new_order, new_stock};
use crate::shop::{order, prevent_deletes, stock};
use crate::staged::{payloads, types};

on_all!(emit:
    a_delete_emits_from_the_row_that_was_there,
    a_delete_of_a_missing_row_emits_nothing,
    a_delete_that_a_trigger_prevents_emits_nothing,
    a_failed_save_emits_nothing,
    a_known_event_that_does_not_serialize_keeps_the_row_from_being_written,
    a_row_whose_event_does_not_serialize_is_to_be_rolled_back,
    a_save_emits_for_insert_and_update,
    an_insert_emits_from_the_saved_row,
    an_update_emits_from_the_saved_row,
    it_stands_beside_the_hooks,
);

fn reserved(saved: &stock::Model) -> StockReserved {
    StockReserved { sku: format!("{}-{}", saved.sku, saved.id), quantity: saved.quantity }
}

async fn an_insert_emits_from_the_saved_row(shop: TestDatabase) {
    let prefix = String::from("X");
    let txn = shop.db.begin().await.unwrap();

    let saved = new_stock("A1", 2)
        .emit_with(reserved)
        .emit_with(|saved| StockReserved { sku: format!("{prefix}{}", saved.id), quantity: 0 })
        .emit(ReportRequested)
        .insert(&txn)
        .await
        .unwrap();
    txn.commit().await.unwrap();

    let expected = [
        format!(r#"{{"sku":"A1-{}","quantity":2}}"#, saved.id),
        format!(r#"{{"sku":"X{}","quantity":0}}"#, saved.id),
        "null".to_owned(),
    ];
    assert_eq!(payloads(&shop.db).await, expected);
    assert_eq!(shop.staged(), 1);
    assert_eq!(count(&shop.db, "stock").await, 1);
}

async fn an_update_emits_from_the_saved_row(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();
    let saved = new_stock("A1", 2).emit(ReportRequested).insert(&txn).await.unwrap();

    let mut change = saved.into_active_model();
    change.quantity = Set(9);
    change.emit_with(reserved).update(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(types(&shop.db).await, ["reports.requested", "stock.reserved"]);
    assert!(payloads(&shop.db).await[1].contains(r#""quantity":9"#));
}

async fn a_save_emits_for_insert_and_update(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();

    let mut saved = new_stock("A1", 2).emit_with(reserved).save(&txn).await.unwrap();
    saved.quantity = Set(9);
    saved.emit_with(reserved).save(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(types(&shop.db).await, ["stock.reserved"; 2]);
    assert_eq!(count(&shop.db, "stock").await, 1);
}

async fn a_delete_emits_from_the_row_that_was_there(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();
    let saved = new_stock("A1", 2).emit(ReportRequested).insert(&txn).await.unwrap();

    let key = stock::ActiveModel { id: Set(saved.id), ..Default::default() };
    let deleted = key.emit_with(reserved).delete(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(deleted.rows_affected, 1);
    let expected = format!(r#"{{"sku":"A1-{}","quantity":2}}"#, saved.id);
    assert_eq!(payloads(&shop.db).await[1], expected);
}

async fn a_delete_of_a_missing_row_emits_nothing(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();

    let key = stock::ActiveModel { id: Set(4711), ..Default::default() };
    let deleted = key.emit(ReportRequested).emit_with(reserved).delete(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(deleted.rows_affected, 0);
    assert_eq!(types(&shop.db).await, [""; 0]);
}

async fn a_delete_that_a_trigger_prevents_emits_nothing(shop: TestDatabase) {
    prevent_deletes(&shop, "stock").await;
    let txn = shop.db.begin().await.unwrap();
    let saved = new_stock("A1", 2).insert(&txn).await.unwrap();

    let deleted = saved.into_active_model().emit(ReportRequested).delete(&txn).await;
    txn.commit().await.unwrap();

    // On MariaDB a trigger can prevent only by an error.
    let rows = deleted.map_or(0, |deleted| deleted.rows_affected);
    assert_eq!((rows, count(&shop.db, "stock").await), (0, 1));
    assert_eq!(types(&shop.db).await, [""; 0]);
}

async fn a_failed_save_emits_nothing(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();

    let missing = stock::ActiveModel { id: Set(4711), quantity: Set(1), ..Default::default() };
    missing.emit(ReportRequested).update(&txn).await.unwrap_err();
    txn.commit().await.unwrap();

    assert_eq!(types(&shop.db).await, [""; 0]);
}

async fn it_stands_beside_the_hooks(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();

    let placed: order::Model = new_order(1).emit(ReportRequested).insert(&txn).await.unwrap();
    known(&placed).emit(ReportRequested).delete(&txn).await.unwrap();
    txn.commit().await.unwrap();

    let expected =
        ["orders.order_placed", "reports.requested", "orders.cancelled", "reports.requested"];
    assert_eq!(types(&shop.db).await, expected);
}

async fn a_known_event_that_does_not_serialize_keeps_the_row_from_being_written(
    shop: TestDatabase,
) {
    let txn = shop.db.begin().await.unwrap();
    let kept = new_stock("A1", 2).insert(&txn).await.unwrap();
    let mut change = kept.clone().into_active_model();
    change.quantity = Set(9);

    let errors = [
        new_stock("B2", 2).emit_with(reserved).emit(Unserializable::new()).insert(&txn).await,
        change.emit(Unserializable::new()).update(&txn).await,
    ];
    let deleted = kept.into_active_model().emit(Unserializable::new()).delete(&txn).await;
    txn.commit().await.unwrap();

    for error in errors.map(Result::unwrap_err).into_iter().chain([deleted.unwrap_err()]) {
        let text = error.to_string();
        assert!(text.ends_with("reports.unserializable does not serialize to JSON"), "{text}");
    }
    assert_eq!(count(&shop.db, "stock WHERE sku = 'A1' AND quantity = 2").await, 1);
    assert_eq!(count(&shop.db, "stock").await, 1);
    assert_eq!(types(&shop.db).await, [""; 0]);
}

async fn a_row_whose_event_does_not_serialize_is_to_be_rolled_back(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();
    let kept = new_stock("A1", 2).insert(&txn).await.unwrap();
    let mut change = kept.clone().into_active_model();
    change.quantity = Set(9);
    let bad = |_: &stock::Model| Unserializable::new();

    let inserted = new_stock("B2", 2).emit(ReportRequested).emit_with(bad).insert(&txn).await;
    let updated = change.emit_with(bad).update(&txn).await;
    let deleted = kept.into_active_model().emit_with(bad).delete(&txn).await;
    let (staged, left) = (types(&txn).await, count(&txn, "stock").await);
    txn.rollback().await.unwrap();

    let errors = [inserted.unwrap_err(), updated.unwrap_err(), deleted.unwrap_err()];
    for (error, write) in errors.iter().zip(["insert", "update", "delete"]) {
        let expected = format!(
            "payload of event reports.unserializable does not serialize to JSON; the {write} of \
             `stock` stands in this transaction without its events, roll it back"
        );
        assert_eq!(error.source().unwrap().to_string(), expected);
        assert_eq!(error.source().unwrap().source().unwrap().to_string(), "key must be a string");
        assert!(matches!(OutboxError::of(error), Some(OutboxError::Encode(_))), "{error:?}");
    }
    assert_eq!((staged, left), (vec![], 1));
    assert_eq!(count(&shop.db, "stock").await, 0);
}
