//! Pools for a worker.

use std::num::NonZeroU32;
use std::time::Duration;

use outbox_core::{OutboxStore, StoreErrorKind, TableNames};
use outbox_seaorm::{PoolOptions, SeaOrmStore, connect};
use sea_orm::{ConnectionTrait, DatabaseConnection, Statement};

use crate::database::{TestDatabase, on_postgres, on_sqlite};
use crate::on_all;
use crate::store_errors::chain;

on_all!(store_connect: a_store_works_over_such_a_pool);

fn options() -> PoolOptions {
    PoolOptions {
        max_connections: NonZeroU32::new(2).unwrap(),
        acquire_timeout: Duration::from_secs(20),
        ..PoolOptions::default()
    }
}

async fn text(db: &DatabaseConnection, sql: &str) -> String {
    let statement = Statement::from_string(db.get_database_backend(), sql);
    db.query_one_raw(statement).await.unwrap().unwrap().try_get_by_index(0).unwrap()
}

async fn a_store_works_over_such_a_pool(database: TestDatabase) {
    let db = connect(&database.url, options()).await.unwrap();

    let store = SeaOrmStore::new(db, TableNames::default()).unwrap();

    store.check().await.unwrap();
    assert!(store.stats().await.unwrap().ready.is_empty());
}

#[tokio::test]
async fn each_session_has_its_limits_and_its_isolation_on_postgres() {
    on_postgres(|database| async move {
        let name = text(&database.db, "SELECT current_database()::text").await;
        let default = "default_transaction_isolation = 'repeatable read'";
        let alter = format!("ALTER DATABASE {name} SET {default}");
        database.db.execute_unprepared(&alter).await.unwrap();
        let options = PoolOptions {
            statement_timeout: Duration::from_millis(1234),
            lock_timeout: Duration::MAX,
            idle_in_transaction_timeout: Duration::ZERO,
            application_name: "a worker".to_owned(),
            ..options()
        };

        let db = connect(&database.url, options).await.unwrap();

        let settings = [
            ("default_transaction_isolation", "read committed"),
            ("statement_timeout", "1234ms"),
            ("lock_timeout", "2147483647ms"),
            ("idle_in_transaction_session_timeout", "0"),
            ("application_name", "a worker"),
        ];
        for (setting, value) in settings {
            assert_eq!(text(&db, &format!("SHOW {setting}")).await, value, "{setting}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_pool_of_another_isolation_does_not_pass_the_check_on_postgres() {
    on_postgres(|database| async move {
        let name = text(&database.db, "SELECT current_database()::text").await;
        let alter =
            format!("ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'");
        database.db.execute_unprepared(&alter).await.unwrap();
        let store = SeaOrmStore::new(database.pool(1).await, TableNames::default()).unwrap();

        let error = store.check().await.unwrap_err();

        assert_eq!(error.kind(), StoreErrorKind::InvalidArgument);
        assert!(error.to_string().contains("READ COMMITTED"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_named_without_credentials() {
    let url = "postgres://somebody:secret@127.0.0.1:1/shop?sslmode=disable";

    let error = connect(url, options()).await.unwrap_err();

    assert_eq!(error.kind(), StoreErrorKind::Unavailable);
    let text = chain(&error);
    assert!(text.contains("PostgreSQL at 127.0.0.1 port 1 cannot be reached: "), "{text}");
    assert!(text.contains("refused"), "{text}");
    assert!(!text.contains("somebody") && !text.contains("secret"), "{text}");
}

#[tokio::test]
async fn a_database_that_is_not_there_is_named_on_postgres() {
    on_postgres(|database| async move {
        let name = text(&database.db, "SELECT current_database()::text").await;
        let elsewhere = database.url.replace(&name, "no_such_database");

        let error = connect(&elsewhere, options()).await.unwrap_err();

        assert_eq!(error.kind(), StoreErrorKind::SchemaMissing);
        assert!(chain(&error).contains("\"no_such_database\" does not exist"), "{}", chain(&error));
    })
    .await;
}

#[tokio::test]
async fn a_url_that_cannot_be_used_is_refused_without_being_shown() {
    let urls = [
        "postgres://somebody:secret@[half/shop",
        "postgres://somebody:secret@host:port/shop",
        "postgres://somebody:secret@host/shop?sslmode=secret",
        "mysql://somebody:secret@host:port/shop",
        "mariadb://somebody:secret@host/shop?ssl-mode=secret",
        "somebody:secret",
        "sqlite://file?mode=secret",
        "",
    ];

    for url in urls {
        let error = connect(url, options()).await.unwrap_err();

        assert_eq!(error.kind(), StoreErrorKind::InvalidArgument, "{url}");
        let text = format!("{} {error:?}", chain(&error));
        assert!(!text.contains("secret") && !text.contains("somebody"), "{text}");
        let schemes = ["mysql://", "postgres://", "sqlite://"];
        assert!(schemes.iter().any(|scheme| text.contains(scheme)), "{text}");
    }
}

#[tokio::test]
async fn a_file_is_safe_and_shared_on_sqlite() {
    on_sqlite(|database| async move {
        let options = PoolOptions { lock_timeout: Duration::from_millis(1234), ..options() };

        let db = connect(&database.url, options).await.unwrap();

        let number = async |pragma: &str| {
            let statement =
                Statement::from_string(db.get_database_backend(), format!("PRAGMA {pragma}"));
            let row = db.query_one_raw(statement).await.unwrap().unwrap();
            row.try_get_by_index::<i32>(0).unwrap()
        };
        assert_eq!(text(&db, "PRAGMA journal_mode").await, "wal");
        assert_eq!(number("synchronous").await, 2, "full");
        assert_eq!(number("busy_timeout").await, 1234);
        assert_eq!(number("foreign_keys").await, 1);
    })
    .await;
}

#[tokio::test]
async fn a_file_that_is_missing_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("missing.sqlite");

    let url = format!("sqlite://{}?mode=rwc", file.display());
    let error = connect(&url, options()).await.unwrap_err();

    assert_eq!(error.kind(), StoreErrorKind::Unavailable);
    assert!(chain(&error).contains("missing.sqlite"), "{}", chain(&error));
    assert!(!file.exists());
}
