//! A schema is a database there.

use outbox_migration::{TableNames, drop_all_with, migrate, migrate_with, status, status_with};
use sea_orm_migration::sea_orm::ConnectionTrait;

use outbox_test_databases::{TestDatabase, number, on_mariadb, texts};

use super::role::Role;
use crate::{
    catalogue::tables,
    promises::{CREATE, TABLES},
};

#[tokio::test]
async fn a_named_schema_is_created_and_holds_everything() {
    on_mariadb(async |database| {
        let db = database.connect().await;
        let billing = names_in(&database, "_billing");

        migrate_with(&db, &billing).await.unwrap();

        assert!(tables(&db).await.is_empty());
        let held = format!(
            "SELECT table_name FROM information_schema.tables
             WHERE table_schema = '{}_billing' ORDER BY table_name",
            database.name()
        );
        assert_eq!(texts(&db, &held).await, TABLES);
        assert_eq!(status_with(&db, &billing).await.unwrap().applied.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn outboxes_in_two_schemas_do_not_share_a_history() {
    on_mariadb(async |database| {
        let db = database.connect_with(1).await;
        // The catalogue compares names without their case, which the server keeps.
        let (one, two) = (names_in(&database, "_Tenant"), names_in(&database, "_tenant"));

        migrate_with(&db, &one).await.unwrap();
        assert!(status_with(&db, &two).await.unwrap().applied.is_empty());
        migrate_with(&db, &two).await.unwrap();
        drop_all_with(&db, &one).await.unwrap();

        assert!(status_with(&db, &one).await.unwrap().applied.is_empty());
        assert_eq!(status_with(&db, &two).await.unwrap().applied.len(), 1);
        let lanes = format!("SELECT count(*) FROM {}", two.quoted("lane", '`'));
        assert_eq!(number(&db, &lanes).await, 64);
        // Nothing was changed for the pooled connection.
        assert_eq!(texts(&db, "SELECT DATABASE()").await, [database.name()]);
    })
    .await;
}

#[tokio::test]
async fn tables_whose_names_differ_in_case_are_not_in_the_way() {
    on_mariadb(async |database| {
        let db = database.connect().await;
        db.execute_unprepared("CREATE TABLE OUTBOX_WORKER (name text)").await.unwrap();

        migrate(&db).await.unwrap();

        assert_eq!(number(&db, "SELECT count(*) FROM outbox_worker").await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_user_who_cannot_create_databases_migrates_into_an_existing_one() {
    on_mariadb(async |database| {
        let role = Role::create(&database, "ALL ON *").await;
        let (own, missing) = (names_in(&database, ""), names_in(&database, "_other"));

        let existing = migrate_with(&role.db, &own).await;
        let refused = migrate_with(&role.db, &missing).await;

        role.drop().await;
        existing.unwrap();
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("Access denied"), "{refused}");
    })
    .await;
}

#[tokio::test]
async fn a_user_who_may_only_read_can_ask_for_the_status() {
    on_mariadb(async |database| {
        migrate(&database.connect().await).await.unwrap();
        let role = Role::create(&database, "SELECT ON outbox_migrations").await;

        let status = status(&role.db).await;
        let migrated = migrate(&role.db).await;

        role.drop().await;
        assert_eq!(status.unwrap().applied, [CREATE]);
        let migrated = migrated.unwrap_err().to_string();
        assert!(migrated.contains("denied"), "{migrated}");
    })
    .await;
}

/// Databases that are named after the test's are dropped with it.
fn names_in(database: &TestDatabase, suffix: &str) -> TableNames {
    TableNames::new(Some(&(database.name() + suffix)), "outbox_").unwrap()
}
