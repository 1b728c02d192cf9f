//! What a caller is told.

use std::error::Error;

use outbox_seaorm::{EncodeError, OutboxError, Stage, scope};
use outbox_seaorm::{OutboxSettings, TableNames};
use sea_orm::{ActiveModelTrait, ConnectionTrait, DbErr, TransactionTrait};

use crate::database::{TestDatabase, count, on_postgres};
use crate::on_both;
use crate::shop::{ReportRequested, new_order};
use crate::staged::types;

on_both!(errors:
    a_missing_table_names_the_migrations,
    a_payload_that_does_not_serialize_fails_the_save,
    an_error_of_the_aggregate_fails_the_save,
    an_outdated_table_names_the_migrations,
    other_trouble_of_the_database_stays_what_it_was,
);

/// The outbox's own sentence, if the database's cause lies under it.
fn hint(error: &DbErr) -> String {
    let outbox = OutboxError::of(error).unwrap_or_else(|| panic!("{error}"));
    assert!(matches!(outbox, OutboxError::Insert { .. }), "{outbox:?}");
    let cause = outbox.source().unwrap().downcast_ref::<DbErr>();
    assert!(matches!(cause, Some(DbErr::Exec(_))), "{cause:?}");
    outbox.to_string()
}

async fn a_payload_that_does_not_serialize_fails_the_save(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();

    let error = new_order(13).insert(&txn).await.unwrap_err();
    assert_eq!(types(&txn).await, [""; 0]);
    txn.rollback().await.unwrap();

    let outbox = OutboxError::of(&error).unwrap();
    assert!(matches!(outbox, OutboxError::Encode(EncodeError::Payload { .. })), "{outbox:?}");
    let text = "payload of event reports.unserializable does not serialize to JSON";
    assert_eq!(outbox.to_string(), text);
    assert_eq!(count(&shop.db, "orders").await, 0);
}

async fn an_error_of_the_aggregate_fails_the_save(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();

    let error = new_order(14).insert(&txn).await.unwrap_err();
    txn.rollback().await.unwrap();

    let outbox = OutboxError::of(&error).unwrap();
    assert_eq!(outbox.to_string(), "the aggregate could not tell its events");
    assert_eq!(outbox.source().unwrap().to_string(), "fourteen");
}

async fn a_missing_table_names_the_migrations(shop: TestDatabase) {
    let tables = TableNames::new(shop.is_postgres().then_some("Nowhere"), "no \" such_").unwrap();
    let settings = OutboxSettings::new("urn:shop").tables(tables.clone());
    let txn = shop.db.begin().await.unwrap();

    let error = scope(settings, new_order(1).insert(&txn)).await.unwrap_err();
    drop(txn);

    let expected = format!(
        "the event was not staged: table {} is missing, run the outbox's migrations under this \
         schema and prefix",
        tables.quoted("message", '"')
    );
    assert_eq!(hint(&error), expected);
}

async fn an_outdated_table_names_the_migrations(shop: TestDatabase) {
    shop.db.execute_unprepared("ALTER TABLE outbox_message DROP COLUMN tracestate").await.unwrap();
    let txn = shop.db.begin().await.unwrap();

    let error = txn.stage(ReportRequested).await.unwrap_err();
    drop(txn);

    let text = hint(&error);
    assert!(text.contains("table \"outbox_message\" is older than this version"), "{text}");
}

/// SQLite knows no roles.
#[tokio::test]
async fn a_missing_grant_on_postgres_is_one_clear_line_and_no_row() {
    on_postgres(a_missing_grant_is_one_clear_line_and_no_row).await;
}

async fn a_missing_grant_is_one_clear_line_and_no_row(shop: TestDatabase) {
    let role = format!("shop_{}", outbox_seaorm::EventId::new().uuid().simple());
    let grants = format!(
        "CREATE ROLE {role} LOGIN; GRANT ALL ON orders TO {role};
         GRANT ALL ON SEQUENCE orders_id_seq TO {role}"
    );
    shop.db.execute_unprepared(&grants).await.unwrap();
    let db = shop.pool_as(&role).await;

    let without_insert = refused(&db).await;
    let grant = format!("GRANT INSERT ON outbox_message TO {role}");
    shop.db.execute_unprepared(&grant).await.unwrap();
    let without_usage = refused(&db).await;
    let grant = format!("GRANT USAGE ON SEQUENCE outbox_position TO {role}");
    shop.db.execute_unprepared(&grant).await.unwrap();
    let txn = db.begin().await.unwrap();
    let granted = new_order(1).insert(&txn).await;
    txn.commit().await.unwrap();
    let drop_role = format!("DROP OWNED BY {role}; DROP ROLE {role}");
    db.close().await.unwrap();
    shop.db.execute_unprepared(&drop_role).await.unwrap();

    for error in [without_insert, without_usage] {
        assert_eq!(
            hint(&error),
            "the event was not staged: the database role lacks a permission, GRANT INSERT ON \
             \"outbox_message\" and GRANT USAGE ON SEQUENCE \"outbox_position\" to it"
        );
    }
    granted.unwrap();
    assert_eq!(count(&shop.db, "orders").await, 1);
    assert_eq!(types(&shop.db).await, ["orders.order_placed"]);
}

async fn refused(db: &sea_orm::DatabaseConnection) -> DbErr {
    let txn = db.begin().await.unwrap();
    let error = new_order(1).insert(&txn).await.unwrap_err();
    txn.rollback().await.unwrap();
    error
}

/// A loop that repeats transactions looks for the database's own error.
async fn other_trouble_of_the_database_stays_what_it_was(shop: TestDatabase) {
    let refuse = if shop.is_postgres() {
        "ALTER TABLE outbox_message ADD CONSTRAINT never CHECK (event_type = '')"
    } else {
        "CREATE TRIGGER never BEFORE INSERT ON outbox_message
         BEGIN SELECT RAISE(ABORT, 'never'); END"
    };
    shop.db.execute_unprepared(refuse).await.unwrap();
    let txn = shop.db.begin().await.unwrap();

    let error = new_order(1).insert(&txn).await.unwrap_err();
    drop(txn);

    assert!(OutboxError::of(&error).is_none());
    assert!(matches!(error, DbErr::Exec(_)), "{error:?}");
    assert!(error.to_string().contains("never"), "{error}");
}
