//! What a caller is told.

use std::error::Error;

use outbox_seaorm::{Emit, EncodeError, OutboxError, OutboxEvent, Stage, scope};
use outbox_seaorm::{OutboxSettings, TableNames};
use sea_orm::{ActiveModelTrait, ConnectionTrait, DbErr, Set, TransactionTrait};
use serde::ser::{Error as _, Serialize, Serializer};

use crate::database::{ROLE_PASSWORD, TestDatabase, count, on_postgres};
use crate::on_all;
use crate::shop::{ReportRequested, known, new_order, new_stock};
use crate::staged::types;

on_all!(errors:
    a_missing_table_names_the_migrations,
    a_payload_that_does_not_serialize_fails_the_save,
    a_value_that_an_own_serialize_quotes_is_in_no_text_of_the_outbox,
    an_error_of_the_aggregate_fails_the_save,
    an_outdated_table_names_the_migrations,
    other_trouble_of_the_database_stays_what_it_was,
    whichever_write_stands_is_named,
);

/// The outbox's own sentence, if the database's cause lies under it.
fn hint(error: &DbErr) -> String {
    let outbox = OutboxError::of(error).unwrap_or_else(|| panic!("{error}"));
    assert!(matches!(outbox, OutboxError::Insert { .. }), "{outbox:?}");
    let cause = outbox.source().unwrap().downcast_ref::<DbErr>();
    assert!(matches!(cause, Some(DbErr::Exec(_))), "{cause:?}");
    outbox.to_string()
}

/// What the caller is told who asks no further.
fn told(error: &DbErr) -> String {
    error.to_string().replace("Error converting `event` into `outbox record`: ", "")
}

/// What is said of an order that is written before its events fail.
fn stands(write: &str) -> String {
    format!("; the {write} of `orders` stands in this transaction without its events, roll it back")
}

async fn a_payload_that_does_not_serialize_fails_the_save(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();

    let error = new_order(13).insert(&txn).await.unwrap_err();
    assert_eq!(types(&txn).await, [""; 0]);
    txn.rollback().await.unwrap();

    let outbox = OutboxError::of(&error).unwrap();
    assert!(matches!(outbox, OutboxError::Encode(EncodeError::Payload { .. })), "{outbox:?}");
    assert_eq!(outbox.source().unwrap().to_string(), "key must be a string");
    let text = "payload of event reports.unserializable does not serialize to JSON";
    assert_eq!(outbox.to_string(), text);
    assert_eq!(told(&error), format!("{text}{}", stands("insert")));
    assert_eq!(count(&shop.db, "orders").await, 0);
}

async fn an_error_of_the_aggregate_fails_the_save(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();

    let error = new_order(14).insert(&txn).await.unwrap_err();
    txn.rollback().await.unwrap();

    let outbox = OutboxError::of(&error).unwrap();
    assert_eq!(outbox.source().unwrap().to_string(), "fourteen");
    let text = "the aggregate could not tell its events";
    assert_eq!(told(&error), format!("{text}{}", stands("insert")));
}

async fn a_missing_table_names_the_migrations(shop: TestDatabase) {
    let schema = shop.is_postgres().then_some("Nowhere");
    let tables = TableNames::new(schema, "no \" such` ").unwrap();
    let settings = OutboxSettings::new("urn:shop").tables(tables.clone());
    let txn = shop.db.begin().await.unwrap();

    let error = scope(settings, new_order(1).insert(&txn)).await.unwrap_err();
    drop(txn);

    let expected = format!(
        "the event was not staged: table {} is missing, run the outbox's migrations under this \
         schema and prefix",
        tables.quoted("message", shop.quote())
    );
    assert_eq!(hint(&error), expected);
}

async fn an_outdated_table_names_the_migrations(shop: TestDatabase) {
    shop.db.execute_unprepared("ALTER TABLE outbox_message DROP COLUMN tracestate").await.unwrap();
    let txn = shop.db.begin().await.unwrap();

    let error = txn.stage(ReportRequested).await.unwrap_err();
    drop(txn);

    let text = hint(&error);
    let table = TableNames::default().quoted("message", shop.quote());
    assert!(text.contains(&format!("table {table} is older than this version")), "{text}");
}

async fn whichever_write_stands_is_named(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();
    let placed = new_order(100).insert(&txn).await.unwrap();
    txn.commit().await.unwrap();
    let mut change = known(&placed);
    change.total = Set(80);
    shop.db.execute_unprepared("ALTER TABLE outbox_message DROP COLUMN tracestate").await.unwrap();

    let txn = shop.db.begin().await.unwrap();
    let inserted = new_order(1).insert(&txn).await.unwrap_err();
    txn.rollback().await.unwrap();
    let txn = shop.db.begin().await.unwrap();
    let updated = change.update(&txn).await.unwrap_err();
    txn.rollback().await.unwrap();
    let txn = shop.db.begin().await.unwrap();
    let deleted = known(&placed).delete(&txn).await.unwrap_err();
    txn.rollback().await.unwrap();

    for (error, write) in [(inserted, "insert"), (updated, "update"), (deleted, "delete")] {
        assert_eq!(told(&error), format!("{}{}", hint(&error), stands(write)));
    }
}

/// No grant helps against a policy, so none is named.
#[tokio::test]
async fn a_row_that_a_policy_refuses_is_no_missing_grant_on_postgres() {
    on_postgres(|shop| async move {
        let role = format!("shop_{}", outbox_seaorm::EventId::new().uuid().simple());
        let grants = format!(
            "CREATE ROLE {role} LOGIN PASSWORD '{ROLE_PASSWORD}'; GRANT ALL ON orders TO {role};
             GRANT ALL ON SEQUENCE orders_id_seq TO {role};
             GRANT INSERT ON outbox_message TO {role};
             GRANT USAGE ON SEQUENCE outbox_position TO {role};
             ALTER TABLE outbox_message ENABLE ROW LEVEL SECURITY"
        );
        shop.db.execute_unprepared(&grants).await.unwrap();
        let db = shop.pool_as(&role).await;

        let error = refused(&db).await;
        db.close().await.unwrap();
        let drop_role = format!("DROP OWNED BY {role}; DROP ROLE {role}");
        shop.db.execute_unprepared(&drop_role).await.unwrap();

        assert!(error.to_string().contains("row-level security"), "{error}");
        assert!(!error.to_string().contains("GRANT"), "{error}");
    })
    .await;
}

/// An event that quotes itself where it does not serialize.
#[derive(OutboxEvent)]
#[outbox(type = "cards.entered", topic = "cards")]
struct CardEntered {
    number: &'static str,
}

impl Serialize for CardEntered {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom(format!("{} is no card", self.number)))
    }
}

async fn a_value_that_an_own_serialize_quotes_is_in_no_text_of_the_outbox(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();

    let staged = txn.stage(CardEntered { number: "4711" }).await.unwrap_err();
    let emitted = new_stock("A1", 2).emit_with(|_| CardEntered { number: "4711" }).insert(&txn);
    let emitted = emitted.await.unwrap_err();
    txn.rollback().await.unwrap();

    for error in [staged, emitted] {
        assert!(error.to_string().contains("payload of event cards.entered"), "{error}");
        assert!(!error.to_string().contains("4711"), "{error}");
        let serde = OutboxError::of(&error).unwrap().source().unwrap();
        assert_eq!(serde.to_string(), "4711 is no card");
    }
}

/// SQLite knows no roles.
#[tokio::test]
async fn a_missing_grant_on_postgres_is_one_clear_line_and_no_row() {
    on_postgres(a_missing_grant_is_one_clear_line_and_no_row).await;
}

async fn a_missing_grant_is_one_clear_line_and_no_row(shop: TestDatabase) {
    let role = format!("shop_{}", outbox_seaorm::EventId::new().uuid().simple());
    let grants = format!(
        "CREATE ROLE {role} LOGIN PASSWORD '{ROLE_PASSWORD}'; GRANT ALL ON orders TO {role};
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
    let constraint = "ALTER TABLE outbox_message ADD CONSTRAINT never CHECK (event_type = '')";
    let refuse = shop.choose(
        constraint,
        constraint,
        "CREATE TRIGGER never BEFORE INSERT ON outbox_message
         BEGIN SELECT RAISE(ABORT, 'never'); END",
    );
    shop.db.execute_unprepared(refuse).await.unwrap();
    let txn = shop.db.begin().await.unwrap();

    let error = new_order(1).insert(&txn).await.unwrap_err();
    drop(txn);

    assert!(OutboxError::of(&error).is_none());
    assert!(matches!(error, DbErr::Exec(_)), "{error:?}");
    assert!(error.to_string().contains("never"), "{error}");
}
