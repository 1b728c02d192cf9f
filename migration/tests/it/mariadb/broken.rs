//! A migration that ends in the middle is finished by the next one.

use std::process::{Child, Stdio};

use outbox_migration::{Migrator, migrate};
use sea_orm_migration::{
    MigratorTrait,
    sea_orm::{ConnectionTrait, DatabaseConnection, DatabaseTransaction, TransactionTrait},
};

use outbox_test_databases::{TestDatabase, number, on_mariadb, texts};

use super::{lock::until_a_session_is_at, role::Role};
use crate::{
    catalogue::{describe, tables},
    promises::{CREATE, TABLES, message},
};

/// In the order in which they are created.
const ORDER: [&str; 11] = [
    "message",
    "lane",
    "dead_letter",
    "parked",
    "published",
    "parked_key",
    "audit",
    "claim",
    "inbox",
    "worker",
    "meta",
];

#[tokio::test]
async fn a_migration_that_broke_at_any_statement_is_finished() {
    on_mariadb(async |database| {
        let role = Role::create(&database, "SELECT, INSERT, CREATE ON outbox_migrations").await;
        let mut broken = Vec::new();
        for word in ORDER {
            let table = format!("outbox_{word}");
            broken.push((migrate(&role.db).await, tables(&database.connect().await).await));
            role.may(&format!("CREATE ON {table}")).await;
            if matches!(word, "lane" | "meta") {
                broken.push((migrate(&role.db).await, tables(&database.connect().await).await));
                role.may(&format!("SELECT, INSERT, UPDATE ON {table}")).await;
            }
        }
        let finished = migrate(&role.db).await;
        role.drop().await;

        assert_eq!(broken.len(), 13);
        for (outcome, there) in broken {
            let error = outcome.unwrap_err().to_string();
            assert!(error.contains("denied"), "{there:?}: {error}");
        }
        finished.unwrap();
        let db = database.connect().await;
        assert_eq!(describe(&db).await, include_str!("../golden/mariadb.txt"));
        assert_eq!(number(&db, "SELECT count(*) FROM outbox_lane").await, 64);
        assert_eq!(number(&db, "SELECT count(*) FROM outbox_meta").await, 1);
        assert_eq!(texts(&db, "SELECT version FROM outbox_migrations").await, [CREATE]);
    })
    .await;
}

#[tokio::test]
async fn what_was_staged_into_a_half_is_kept() {
    on_mariadb(async |database| {
        let db = half(&database).await;
        let staged = message(1).replace("outbox_meta", "(SELECT 'any' AS deployment_id) AS id");
        db.execute_unprepared(&staged).await.unwrap();

        // The other way to run it, which takes no lock and may be the one that comes next.
        Migrator::up(&db, None).await.unwrap();

        assert_eq!(number(&db, "SELECT count(*) FROM outbox_message").await, 1);
        assert_eq!(number(&db, "SELECT count(*) FROM outbox_lane").await, 64);
        assert_eq!(tables(&db).await, TABLES);
    })
    .await;
}

#[tokio::test]
async fn a_process_that_is_killed_in_the_middle_keeps_nobody_out() {
    on_mariadb(async |database| {
        let (db, obstacle) = obstructed(&database).await;
        let mut process = start(&database);
        until_a_session_is_at(&db, FILLING).await;

        process.kill().unwrap();

        assert!(!process.wait().unwrap().success());
        obstacle.rollback().await.unwrap();
        is_finished(&db).await;
    })
    .await;
}

#[tokio::test]
async fn a_caller_that_is_cancelled_in_the_middle_keeps_nobody_out() {
    on_mariadb(async |database| {
        let (db, obstacle) = obstructed(&database).await;
        // The caller's pool lives on, as that of an application does.
        let pool = database.connect().await;
        let migrating = tokio::spawn({
            let pool = pool.clone();
            async move { migrate(&pool).await }
        });
        until_a_session_is_at(&db, FILLING).await;

        migrating.abort();

        assert!(migrating.await.unwrap_err().is_cancelled());
        obstacle.rollback().await.unwrap();
        is_finished(&db).await;
        pool.ping().await.unwrap();
    })
    .await;
}

/// Where a migration stands before the obstacle.
const FILLING: &str = "info LIKE 'INSERT INTO `outbox_lane`%'";

/// A half, and a transaction that stands in the way of what comes next.
async fn obstructed(database: &TestDatabase) -> (DatabaseConnection, DatabaseTransaction) {
    let db = half(database).await;
    let obstacle = db.begin().await.unwrap();
    obstacle.execute_unprepared("INSERT INTO outbox_lane (lane) VALUES (63)").await.unwrap();
    (db, obstacle)
}

async fn is_finished(db: &DatabaseConnection) {
    migrate(db).await.unwrap();

    assert_eq!(tables(db).await, TABLES);
    assert_eq!(number(db, "SELECT count(*) FROM outbox_lane").await, 64);
    assert_eq!(texts(db, "SELECT version FROM outbox_migrations").await, [CREATE]);
}

/// A database in which a migration broke when it came to fill the lanes.
async fn half(database: &TestDatabase) -> DatabaseConnection {
    let role = Role::create(database, "SELECT, INSERT, CREATE ON outbox_migrations").await;
    role.may("CREATE ON outbox_message").await;
    role.may("CREATE ON outbox_lane").await;
    let outcome = migrate(&role.db).await;
    role.drop().await;

    outcome.unwrap_err();
    let db = database.connect().await;
    assert_eq!(tables(&db).await, ["outbox_lane", "outbox_message", "outbox_migrations"]);
    assert_eq!(number(&db, "SELECT count(*) FROM outbox_lane").await, 0);
    db
}

fn start(database: &TestDatabase) -> Child {
    let mut command = crate::cli::command(&["up", "--database-url", &database.url]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}
