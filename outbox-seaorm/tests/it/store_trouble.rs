//! Trouble that a store's caller is told the kind of, each caused for real.

use std::num::NonZeroU32;
use std::time::Duration;

use outbox_core::{OutboxStore, StoreErrorKind, TableNames, WorkerCard};
use outbox_seaorm::{PoolOptions, SeaOrmStore, connect};
use sea_orm::{ConnectionTrait, DatabaseConnection, TransactionTrait};

use crate::database::{on_mariadb, on_postgres, on_sqlite, rows};
use crate::store_errors::chain;
use crate::store_fixture::{Outbox, published};
use crate::store_fleet::card;

fn options() -> PoolOptions {
    PoolOptions {
        max_connections: NonZeroU32::MIN,
        acquire_timeout: Duration::from_secs(20),
        ..PoolOptions::default()
    }
}

fn store(db: DatabaseConnection) -> SeaOrmStore {
    SeaOrmStore::new(db, TableNames::default()).unwrap()
}

#[tokio::test]
async fn a_connection_that_the_server_ended_is_unavailable_and_the_next_one_works_on_postgres() {
    on_postgres(|database| async move {
        let outbox = Outbox::new(database);
        let db = connect(&outbox.database.url, options()).await.unwrap();
        let id: i32 = rows(&db, "SELECT pg_backend_pid()").await[0].try_get_by_index(0).unwrap();
        // Waits for a lock, and so is at work when it is ended.
        let leases = outbox.lease(1).await;
        let holder = outbox.db.begin().await.unwrap();
        holder.execute_unprepared("LOCK TABLE outbox_lane").await.unwrap();
        let store = store(db);
        let waiting = format!("SELECT count(*) FROM pg_locks WHERE pid = {id} AND NOT granted");
        let ended = async {
            while outbox.value::<i64>(&waiting).await == 0 {
                tokio::task::yield_now().await;
            }
            outbox.value::<bool>(&format!("SELECT pg_terminate_backend({id})")).await
        };

        let (released, ended) = tokio::join!(store.release(&leases), ended);

        assert!(ended);
        let error = released.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Unavailable, "{}", chain(&error));
        holder.rollback().await.unwrap();
        store.release(&leases).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_statement_that_takes_too_long_is_a_conflict_on_postgres() {
    on_postgres(|database| async move {
        let outbox = Outbox::new(database);
        let leases = outbox.lease(1).await;
        let holder = outbox.db.begin().await.unwrap();
        holder.execute_unprepared("LOCK TABLE outbox_lane").await.unwrap();
        let options = PoolOptions { statement_timeout: Duration::from_millis(50), ..options() };
        let store = store(connect(&outbox.database.url, options).await.unwrap());

        let error = store.release(&leases).await.unwrap_err();

        assert_eq!(error.kind(), StoreErrorKind::Conflict, "{}", chain(&error));
        assert!(chain(&error).contains("57014"), "{}", chain(&error));
        holder.rollback().await.unwrap();
    })
    .await;
}

/// As in a pool that the check refuses: a settlement fails when a lease was renewed meanwhile.
#[tokio::test]
async fn a_change_beside_a_higher_isolation_is_a_conflict_on_postgres() {
    on_postgres(|database| async move {
        let outbox = Outbox::new(database);
        let leases = outbox.lease(1).await;
        let records = outbox.fill(0, 1).await;
        let holder = outbox.db.begin().await.unwrap();
        let renewal = "UPDATE outbox_lane SET expires_at = expires_at WHERE lane = 0";
        holder.execute_unprepared(renewal).await.unwrap();
        let db = connect(&outbox.database.url, options()).await.unwrap();
        let strict = "SET default_transaction_isolation = 'repeatable read'";
        db.execute_unprepared(strict).await.unwrap();
        let store = store(db);
        let blocked = "SELECT count(*) FROM pg_locks WHERE NOT granted";
        let commit = async {
            while outbox.value::<i64>(blocked).await == 0 {
                tokio::task::yield_now().await;
            }
            holder.commit().await.unwrap();
        };

        let outcomes = published(&leases[0], &records);
        let (settled, ()) = tokio::join!(store.settle(&outcomes), commit);

        let error = settled.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Conflict, "{}", chain(&error));
        assert!(chain(&error).contains("40001"), "{}", chain(&error));
        assert_eq!(store.settle(&outcomes).await.unwrap().applied, records);
    })
    .await;
}

#[tokio::test]
async fn a_file_that_takes_no_writes_is_read_only_on_sqlite() {
    on_sqlite(|database| async move {
        let outbox = Outbox::new(database);
        let url = outbox.database.url.replace("mode=rwc", "mode=ro");
        let mut options = sea_orm::ConnectOptions::new(url);
        options.max_connections(1);
        let store = store(sea_orm::Database::connect(options).await.unwrap());

        let lease = store.lease(&outbox.request(1)).await.unwrap_err();

        assert_eq!(lease.kind(), StoreErrorKind::ReadOnly, "{}", chain(&lease));
        assert!(store.stats().await.unwrap().ready.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_disk_without_room_is_unavailable_on_sqlite() {
    on_sqlite(|database| async move {
        let outbox = Outbox::new(database);
        let db = connect(&outbox.database.url, options()).await.unwrap();
        // No page more than there are.
        db.execute_unprepared("PRAGMA max_page_count = 1").await.unwrap();
        let store = store(db);
        let crowd = WorkerCard { topics: vec!["orders".repeat(10_000)], ..card(Some(64)) };

        let error = store.heartbeat(&crowd).await.unwrap_err();

        assert_eq!(error.kind(), StoreErrorKind::Unavailable, "{}", chain(&error));
        assert!(chain(&error).contains("full"), "{}", chain(&error));
        assert_eq!(store.lease(&outbox.request(1)).await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_file_that_is_no_database_any_more_is_corrupt_on_sqlite() {
    on_sqlite(|database| async move {
        let outbox = Outbox::new(database);
        outbox.run("PRAGMA wal_checkpoint(TRUNCATE)").await;
        outbox.db.close_by_ref().await.unwrap();
        let address = outbox.database.url.split('?').next().unwrap();
        let file = address.strip_prefix("sqlite://").unwrap();
        std::fs::write(file, "no database at all, but long enough for a header ".repeat(100))
            .unwrap();

        let error = connect(&outbox.database.url, options()).await.unwrap_err();

        assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{}", chain(&error));
    })
    .await;
}

/// As behind a pooler that gives a session to somebody else in between.
#[tokio::test]
async fn a_statement_that_a_session_forgot_is_refused_and_the_next_one_works_on_postgres() {
    on_postgres(|database| async move {
        let outbox = Outbox::new(database);
        let leases = outbox.lease(1).await;
        let records = outbox.fill(0, 2).await;
        let db = connect(&outbox.database.url, options()).await.unwrap();
        let store = store(db.clone());
        store.settle(&published(&leases[0], &records[..1])).await.unwrap();
        db.execute_unprepared("DEALLOCATE ALL").await.unwrap();
        let outcomes = published(&leases[0], &records[1..]);

        let error = store.settle(&outcomes).await.unwrap_err();
        let attempts: i32 = outbox.value("SELECT attempts FROM outbox_message").await;
        let again = async {
            loop {
                match store.settle(&outcomes).await {
                    // Its connection is not back in the pool yet, and so is not closed.
                    Err(error) if error.kind() == StoreErrorKind::Refused => {}
                    answer => break answer.unwrap(),
                }
            }
        };
        let settled = tokio::time::timeout(Duration::from_secs(30), again).await.unwrap();

        assert_eq!(error.kind(), StoreErrorKind::Refused, "{}", chain(&error));
        assert!(chain(&error).contains("26000"), "{}", chain(&error));
        assert_eq!(attempts, 0);
        assert_eq!(settled.applied, records[1..]);
    })
    .await;
}

/// What was published and cannot be settled at the moment is no failure of its record.
#[tokio::test]
async fn a_refusal_that_is_not_about_data_marks_no_record_on_mariadb() {
    on_mariadb(|database| async move {
        let outbox = Outbox::new(database);
        let leases = outbox.lease(1).await;
        let records = outbox.fill(0, 3).await;
        outbox
            .run(
                "CREATE TRIGGER refuse BEFORE DELETE ON outbox_message FOR EACH ROW
                 SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1665, MESSAGE_TEXT = 'binary log'",
            )
            .await;
        let outcomes = published(&leases[0], &records);

        let error = outbox.store.settle(&outcomes).await.unwrap_err();
        outbox.run("DROP TRIGGER refuse").await;
        let attempts: i32 = outbox.value("SELECT MAX(attempts) FROM outbox_message").await;
        let settled = outbox.settle(&outcomes).await;

        assert_eq!(error.kind(), StoreErrorKind::Refused, "{}", chain(&error));
        assert_eq!(attempts, 0);
        assert_eq!(settled.applied, records);
    })
    .await;
}
