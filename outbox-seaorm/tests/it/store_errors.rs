//! What kind of trouble a database's refusal is, and what it shows.

use std::error::Error;

use outbox_core::{
    DeadReason, OutboxStats, OutboxStore, Outcome, OutcomeKind, StoreError, StoreErrorKind,
    TableNames,
};
use outbox_seaorm::SeaOrmStore;
use sea_orm::{SqliteTransactionMode, TransactionOptions, TransactionTrait};

use crate::database::{ROLE_PASSWORD, TestDatabase, on_postgres, on_sqlite};
use crate::on_all;
use crate::store_fixture::{Outbox, outcome, published, sample};

on_all!(store_errors:
    a_closed_pool_is_unavailable,
    a_column_that_is_missing_is_a_schema_that_is_missing,
    a_database_that_refuses_one_record_holds_no_other,
    a_place_that_is_taken_among_dead_letters_holds_no_other,
    a_whole_schema_passes_the_check,
    an_unmigrated_database_fails_the_check_with_what_to_do,
    lanes_that_are_missing_fail_the_check,
    what_a_database_refuses_for_good_is_an_error,
);

/// An error with its causes, as a user sees it.
pub(crate) fn chain(error: &StoreError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

async fn a_whole_schema_passes_the_check(database: TestDatabase) {
    let outbox = Outbox::new(database);

    outbox.store.check().await.unwrap();
}

async fn an_unmigrated_database_fails_the_check_with_what_to_do(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let elsewhere = TableNames::new(None, "other_").unwrap();
    let store = SeaOrmStore::new(outbox.db.clone(), elsewhere).unwrap();

    let error = store.check().await.unwrap_err();

    assert_eq!(error.kind(), StoreErrorKind::SchemaMissing);
    let text = chain(&error);
    assert!(text.starts_with("run `outbox-worker migrate`: "), "{text}");
    assert!(text.contains("other_message"), "{text}");
}

async fn lanes_that_are_missing_fail_the_check(database: TestDatabase) {
    let outbox = Outbox::new(database);
    outbox.run("DELETE FROM outbox_lane WHERE lane = 63").await;

    let error = outbox.store.check().await.unwrap_err();

    assert_eq!(error.kind(), StoreErrorKind::SchemaMissing);
}

async fn a_column_that_is_missing_is_a_schema_that_is_missing(database: TestDatabase) {
    let outbox = Outbox::new(database);
    outbox.run("ALTER TABLE outbox_message DROP COLUMN transport").await;

    let check = outbox.store.check().await.unwrap_err();
    outbox.fill(0, 1).await;
    let read = outbox.store.read(&crate::store_fixture::from_start(&[0])).await.unwrap_err();

    assert_eq!(check.kind(), StoreErrorKind::SchemaMissing);
    assert_eq!(read.kind(), StoreErrorKind::SchemaMissing);
}

async fn a_closed_pool_is_unavailable(database: TestDatabase) {
    let outbox = Outbox::new(database);
    outbox.database.workers.close_by_ref().await.unwrap();

    let error = outbox.store.stats().await.unwrap_err();

    assert_eq!(error.kind(), StoreErrorKind::Unavailable);
    assert!(error.source().is_some());
}

/// Refuses every change of this kind to the record at this position.
async fn refuse(outbox: &Outbox, change: &str, position: i64) {
    if outbox.is_postgres() {
        outbox
            .run(&format!(
                "CREATE FUNCTION refuse_{change}() RETURNS trigger LANGUAGE plpgsql AS $$
                 BEGIN RAISE EXCEPTION 'secret %', OLD.payload; END $$;
                 CREATE TRIGGER refuse_{change} BEFORE {change} ON outbox_message FOR EACH ROW
                 WHEN (OLD.position = {position}) EXECUTE FUNCTION refuse_{change}()"
            ))
            .await;
    } else if outbox.is_mariadb() {
        outbox
            .run(&format!(
                "CREATE TRIGGER refuse_{change} BEFORE {change} ON outbox_message FOR EACH ROW
                 IF old.position = {position}
                 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'secret'; END IF"
            ))
            .await;
    } else {
        outbox
            .run(&format!(
                "CREATE TRIGGER refuse_{change} BEFORE {change} ON outbox_message
                 WHEN old.position = {position} BEGIN SELECT RAISE(ABORT, 'secret'); END"
            ))
            .await;
    }
}

async fn a_database_that_refuses_one_record_holds_no_other(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(8).await;
    let mut outcomes = Vec::new();
    for lease in &leases {
        outcomes.extend(published(lease, &outbox.fill(lease.lane.number(), 5).await));
    }
    refuse(&outbox, "DELETE", 12).await;

    let settled = outbox.settle(&outcomes).await;

    assert_eq!(settled.applied.len(), 39);
    assert!(settled.applied.iter().all(|record| record.position.0 != 12));
    assert_eq!(settled.lost, []);
    // The record rests and tells why, without what the trigger said of it.
    assert_eq!(outbox.positions("message").await, [12]);
    let text: String = outbox.value("SELECT last_error FROM outbox_message").await;
    assert!(text.starts_with("its outcome was refused by the database"), "{text}");
    assert!(!text.contains("secret"), "{text}");
    assert!(outbox.read(&[2]).await.is_empty());
}

async fn a_place_that_is_taken_among_dead_letters_holds_no_other(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let records = outbox.fill(0, 3).await;
    let dead = |at: usize| {
        let reason = DeadReason::Rejected;
        let kind = OutcomeKind::Dead { reason, error: "too large".to_owned(), parks_key: false };
        outcome(&leases[0], records[at], kind)
    };
    outbox.settle(&[dead(0)]).await;
    outbox.run("UPDATE outbox_dead_letter SET position = 2").await;

    let settled = outbox.settle(&[dead(1), dead(2)]).await;

    assert_eq!(settled.applied, [records[2]]);
    assert_eq!(outbox.positions("message").await, [2]);
    assert_eq!(outbox.positions("dead_letter").await, [2, 3]);
}

async fn what_a_database_refuses_for_good_is_an_error(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let record = outbox.insert(sample(0)).await;
    refuse(&outbox, "DELETE", 1).await;
    refuse(&outbox, "UPDATE", 1).await;

    let outcomes: Vec<Outcome> = published(&leases[0], &[record]);
    let error = outbox.store.settle(&outcomes).await.unwrap_err();

    assert_eq!(error.kind(), StoreErrorKind::Corrupt);
    assert!(!chain(&error).contains("secret"), "{}", chain(&error));
    assert!(!format!("{error:?}").contains("secret"), "{error:?}");
}

#[tokio::test]
async fn a_role_without_a_grant_is_denied_on_postgres() {
    on_postgres(|database| async move {
        let outbox = Outbox::new(database);
        let role = format!("guest_{}", outbox.worker.uuid().simple());
        outbox.run(&format!("CREATE ROLE {role} LOGIN PASSWORD '{ROLE_PASSWORD}'")).await;
        let guest = outbox.database.pool_as(&role).await;

        let stats = SeaOrmStore::new(guest, TableNames::default()).unwrap().stats().await;

        outbox.run(&format!("DROP ROLE {role}")).await;
        assert_eq!(stats.map_err(|error| error.kind()), Err(StoreErrorKind::PermissionDenied));
    })
    .await;
}

#[tokio::test]
async fn a_server_that_takes_no_writes_is_read_only_on_postgres() {
    on_postgres(|database| async move {
        let outbox = Outbox::new(database);
        let name: String = outbox.value("SELECT current_database()::text").await;
        outbox.run(&format!("ALTER DATABASE {name} SET default_transaction_read_only = on")).await;
        let db = outbox.database.pool(1).await;
        let store = SeaOrmStore::new(db, TableNames::default()).unwrap();

        let lease = store.lease(&outbox.request(1)).await.unwrap_err();
        let stats: OutboxStats = store.stats().await.unwrap();

        assert_eq!(lease.kind(), StoreErrorKind::ReadOnly);
        assert!(stats.ready.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_lock_that_is_not_given_in_time_is_a_conflict_on_postgres() {
    on_postgres(|database| async move {
        let outbox = Outbox::new(database);
        let leases = outbox.lease(1).await;
        let holder = outbox.db.begin().await.unwrap();
        sea_orm::ConnectionTrait::execute_unprepared(&holder, "LOCK TABLE outbox_lane")
            .await
            .unwrap();
        let db = outbox.database.pool(1).await;
        sea_orm::ConnectionTrait::execute_unprepared(&db, "SET lock_timeout = 50").await.unwrap();
        let store = SeaOrmStore::new(db, TableNames::default()).unwrap();

        let error = store.release(&leases).await.unwrap_err();

        assert_eq!(error.kind(), StoreErrorKind::Conflict);
        holder.rollback().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn another_writer_is_a_conflict_on_sqlite() {
    on_sqlite(|database| async move {
        let outbox = Outbox::new(database);
        let writer = TransactionOptions {
            sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
            ..TransactionOptions::default()
        };
        let holder = outbox.db.begin_with_options(writer).await.unwrap();
        let db = outbox.database.pool(1).await;
        sea_orm::ConnectionTrait::execute_unprepared(&db, "PRAGMA busy_timeout = 0").await.unwrap();
        let store = SeaOrmStore::new(db, TableNames::default()).unwrap();

        let error = store.lease(&outbox.request(1)).await.unwrap_err();

        assert_eq!(error.kind(), StoreErrorKind::Conflict);
        holder.rollback().await.unwrap();
    })
    .await;
}
