//! What holds on SQLite alone.

use std::time::SystemTime;

use outbox_migration::{TableNames, migrate, migrate_with, status_with};
use sea_orm_migration::sea_orm::ConnectionTrait;

use outbox_test_databases::{number, on_sqlite, texts};

use crate::{
    catalogue::describe,
    promises::{self, message},
};

#[tokio::test]
async fn a_failed_migration_leaves_nothing() {
    on_sqlite(promises::a_failed_migration_leaves_nothing).await;
}

#[tokio::test]
async fn the_first_migration_is_frozen() {
    on_sqlite(async |database| {
        let db = database.connect().await;

        migrate(&db).await.unwrap();

        assert_eq!(describe(&db).await, include_str!("golden/sqlite.txt"));
    })
    .await;
}

#[tokio::test]
async fn a_position_is_not_given_again_when_its_row_is_gone() {
    on_sqlite(async |database| {
        let db = database.connect().await;
        migrate(&db).await.unwrap();
        db.execute_unprepared(&message(1)).await.unwrap();
        db.execute_unprepared(&message(1)).await.unwrap();
        db.execute_unprepared("DELETE FROM outbox_message WHERE position = 2").await.unwrap();

        db.execute_unprepared(&message(1)).await.unwrap();

        assert_eq!(number(&db, "SELECT max(position) FROM outbox_message").await, 3);
    })
    .await;
}

#[tokio::test]
async fn a_record_is_created_at_the_database_clock_in_microseconds() {
    on_sqlite(async |database| {
        let db = database.connect().await;
        migrate(&db).await.unwrap();

        let before = now();
        db.execute_unprepared(&message(1)).await.unwrap();
        let after = now();

        let created = number(&db, "SELECT created_at FROM outbox_message").await;
        assert!((before - 999..=after).contains(&created), "{before} {created} {after}");
        let kind = texts(&db, "SELECT typeof(created_at) FROM outbox_message").await;
        assert_eq!(kind, ["integer"]);
    })
    .await;
}

#[tokio::test]
async fn the_deployment_id_is_a_blob_of_sixteen_bytes() {
    on_sqlite(async |database| {
        let db = database.connect().await;

        migrate(&db).await.unwrap();

        let kind = "SELECT typeof(deployment_id) || length(deployment_id) FROM outbox_meta";
        assert_eq!(texts(&db, kind).await, ["blob16"]);
    })
    .await;
}

#[tokio::test]
async fn a_schema_is_refused() {
    on_sqlite(async |database| {
        let db = database.connect().await;
        let names = TableNames::new(Some("billing"), "outbox_").unwrap();

        let migrated = migrate_with(&db, &names).await.unwrap_err();
        let asked = status_with(&db, &names).await.unwrap_err();

        for error in [migrated, asked] {
            assert!(error.to_string().contains("SQLite has no schemas"), "{error}");
        }
    })
    .await;
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    since.as_micros().try_into().unwrap()
}
