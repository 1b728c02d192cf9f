//! Sessions and refusals on MariaDB.

use std::num::NonZeroU32;
use std::time::Duration;

use outbox_core::{
    Failure, FailureKind, OutboxStore, OutcomeKind, ReadRequest, StoreErrorKind, TableNames,
    Withheld,
};
use outbox_seaorm::{PoolOptions, SeaOrmStore, connect};
use sea_orm::{ConnectionTrait, DatabaseConnection, TransactionTrait};

use crate::database::{on_mariadb, rows};
use crate::store_errors::chain;
use crate::store_fixture::{Outbox, from_start, outcome, sample};

fn options() -> PoolOptions {
    PoolOptions {
        max_connections: NonZeroU32::MIN,
        acquire_timeout: Duration::from_secs(20),
        ..PoolOptions::default()
    }
}

async fn setting(db: &DatabaseConnection, name: &str) -> String {
    let sql = format!("SHOW SESSION VARIABLES WHERE Variable_name = '{name}'");
    rows(db, &sql).await[0].try_get_by_index(1).unwrap()
}

fn store(db: DatabaseConnection) -> SeaOrmStore {
    SeaOrmStore::new(db, TableNames::default()).unwrap()
}

#[tokio::test]
async fn each_session_has_its_limits_and_its_isolation_on_mariadb() {
    on_mariadb(|database| async move {
        let options = PoolOptions {
            statement_timeout: Duration::from_millis(1234),
            lock_timeout: Duration::from_millis(1001),
            idle_in_transaction_timeout: Duration::from_secs(7),
            ..options()
        };

        let db = connect(&database.url.replace("mysql:", "mariadb:"), options).await.unwrap();

        let settings = [
            ("tx_isolation", "READ-COMMITTED"),
            ("max_statement_time", "1.234000"),
            ("innodb_lock_wait_timeout", "2"),
            ("lock_wait_timeout", "2"),
            ("idle_transaction_timeout", "7"),
            ("time_zone", "+00:00"),
        ];
        for (name, value) in settings {
            assert_eq!(setting(&db, name).await, value, "{name}");
        }
        let mode = setting(&db, "sql_mode").await;
        assert!(mode.contains("STRICT_ALL_TABLES"), "{mode}");
        assert_ne!(setting(&database.db, "tx_isolation").await, "READ-COMMITTED");
    })
    .await;
}

#[tokio::test]
async fn limits_beyond_what_the_server_takes_are_its_longest_on_mariadb() {
    on_mariadb(|database| async move {
        for limit in [Duration::ZERO, Duration::MAX] {
            let options = PoolOptions {
                statement_timeout: limit,
                lock_timeout: limit,
                idle_in_transaction_timeout: limit,
                ..options()
            };

            let db = connect(&database.url, options).await.unwrap();

            assert_eq!(setting(&db, "innodb_lock_wait_timeout").await, "100000000");
        }
    })
    .await;
}

#[tokio::test]
async fn a_pool_of_another_isolation_or_a_lax_mode_does_not_pass_the_check_on_mariadb() {
    on_mariadb(|database| async move {
        let own = database.pool(1).await;
        let lax = connect(&database.url, options()).await.unwrap();
        lax.execute_unprepared("SET SESSION sql_mode = ''").await.unwrap();

        for (db, missing) in [(own, "READ COMMITTED"), (lax, "strict sql_mode")] {
            let error = store(db).check().await.unwrap_err();

            assert_eq!(error.kind(), StoreErrorKind::InvalidArgument);
            assert!(error.to_string().contains(missing), "{error}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_named_without_credentials_on_mariadb() {
    let url = "mariadb://somebody:secret@127.0.0.1:1/shop?ssl-mode=disabled";

    let error = connect(url, options()).await.unwrap_err();

    assert_eq!(error.kind(), StoreErrorKind::Unavailable);
    let text = chain(&error);
    assert!(text.contains("MariaDB or MySQL at 127.0.0.1 port 1 cannot be reached: "), "{text}");
    assert!(!text.contains("somebody") && !text.contains("secret"), "{text}");
}

#[tokio::test]
async fn a_database_or_a_user_that_is_not_there_is_refused_on_mariadb() {
    on_mariadb(|database| async move {
        let elsewhere = database.url.replace("outbox_test_", "no_such_database_");
        let stranger = database.url.replace("//outbox@", "//somebody:secret@");

        let missing = connect(&elsewhere, options()).await.unwrap_err();
        let denied = connect(&stranger, options()).await.unwrap_err();

        assert_eq!(missing.kind(), StoreErrorKind::SchemaMissing);
        assert!(chain(&missing).contains("no_such_database_"), "{}", chain(&missing));
        assert_eq!(denied.kind(), StoreErrorKind::PermissionDenied);
        let text = chain(&denied);
        assert!(!text.contains("somebody") && !text.contains("secret"), "{text}");
    })
    .await;
}

#[tokio::test]
async fn a_session_that_takes_no_writes_is_read_only_on_mariadb() {
    on_mariadb(|database| async move {
        let outbox = Outbox::new(database);
        let db = connect(&outbox.database.url, options()).await.unwrap();
        db.execute_unprepared("SET SESSION TRANSACTION READ ONLY").await.unwrap();
        let store = store(db);

        let lease = store.lease(&outbox.request(1)).await.unwrap_err();
        let check = store.check().await.unwrap_err();

        assert_eq!(lease.kind(), StoreErrorKind::ReadOnly);
        assert_eq!(check.kind(), StoreErrorKind::ReadOnly);
        assert!(chain(&check).contains("use the primary server"), "{}", chain(&check));
        store.check_tables().await.unwrap();
        assert!(store.stats().await.unwrap().ready.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_lock_that_is_not_given_in_time_is_a_conflict_on_mariadb() {
    on_mariadb(|database| async move {
        let outbox = Outbox::new(database);
        let leases = outbox.lease(1).await;
        let holder = outbox.db.begin().await.unwrap();
        let lock = "SELECT 1 FROM outbox_lane WHERE lane = 0 FOR UPDATE";
        holder.execute_unprepared(lock).await.unwrap();
        let short = Duration::from_millis(100);
        let hasty = [
            PoolOptions { lock_timeout: short, ..options() },
            PoolOptions { statement_timeout: short, ..options() },
        ];

        for options in hasty {
            let store = store(connect(&outbox.database.url, options).await.unwrap());
            let error = store.release(&leases).await.unwrap_err();

            assert_eq!(error.kind(), StoreErrorKind::Conflict, "{}", chain(&error));
        }
        holder.rollback().await.unwrap();
        assert_eq!(outbox.lease(64).await.len(), 63);
    })
    .await;
}

#[tokio::test]
async fn after_a_connection_that_was_ended_the_next_one_works_on_mariadb() {
    on_mariadb(|database| async move {
        let outbox = Outbox::new(database);
        let db = connect(&outbox.database.url, options()).await.unwrap();
        let id: i64 = rows(&db, "SELECT CAST(CONNECTION_ID() AS SIGNED)").await[0]
            .try_get_by_index(0)
            .unwrap();
        let store = store(db);
        outbox.run(&format!("KILL {id}")).await;
        let there = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id}");
        while outbox.value::<i64>(&there).await > 0 {
            tokio::task::yield_now().await;
        }

        let first = store.stats().await;
        let again = store.stats().await;

        // The pool may have seen the end itself, and has then another connection at once.
        if let Err(error) = first {
            assert_eq!(error.kind(), StoreErrorKind::Unavailable, "{}", chain(&error));
        }
        again.unwrap();
    })
    .await;
}

/// As databases are that were made long ago: what is not of their character set is in the tables all
/// the same, and nothing of it is lost on the way.
#[tokio::test]
async fn a_database_of_another_character_set_keeps_every_letter_on_mariadb() {
    on_mariadb(|database| async move {
        let outbox = Outbox::new(database);
        let name: String = outbox.value("SELECT DATABASE()").await;
        outbox.run(&format!("ALTER DATABASE `{name}` CHARACTER SET latin1")).await;
        let store = store(connect(&outbox.database.url, options()).await.unwrap());
        let leases = outbox.lease(1).await;
        let record = outbox.insert(sample(0).with("topic", "'\u{2603}'")).await;
        let failure = Failure::new(FailureKind::Transient, "\u{2603} melts");
        let kind = OutcomeKind::Failed { failure, delay: Duration::ZERO };

        store.settle(&[outcome(&leases[0], record, kind)]).await.unwrap();
        let read = store.read(&from_start(&[0])).await.unwrap();
        let withheld = Withheld::Destination { topic: "\u{2603}".into(), transport: None };
        let without = ReadRequest { without: vec![withheld], ..from_start(&[0]) };
        let left_out = store.read(&without).await.unwrap();

        assert_eq!(read.records[0].last_error.as_deref(), Some("\u{2603} melts"));
        assert_eq!(left_out.records, []);
    })
    .await;
}
