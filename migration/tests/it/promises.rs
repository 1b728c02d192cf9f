//! What holds on every database.

use std::sync::Arc;

use outbox_migration::{
    Migrator, TableNames, drop_all, migrate, migrate_with, status, status_with,
};
use sea_orm_migration::{MigratorTrait, sea_orm::ConnectionTrait};
use tokio::{sync::Barrier, task::JoinSet};

use outbox_test_databases::{TestDatabase, number, texts};

use crate::catalogue::{columns, tables};

pub(crate) const CREATE: &str = "m20260101_000001_outbox_create";

pub(crate) const TABLES: [&str; 12] = [
    "outbox_audit",
    "outbox_claim",
    "outbox_dead_letter",
    "outbox_inbox",
    "outbox_lane",
    "outbox_message",
    "outbox_meta",
    "outbox_migrations",
    "outbox_parked",
    "outbox_parked_key",
    "outbox_published",
    "outbox_worker",
];

crate::on_each!(promises:
    a_copy_of_a_message_has_all_of_its_columns,
    a_foreign_table_is_refused_by_name,
    a_lane_outside_of_the_format_is_refused,
    a_newer_schema_is_left_alone,
    a_second_row_of_meta_is_refused,
    all_lanes_are_there_from_the_start,
    an_unknown_audit_action_is_refused,
    asking_for_the_status_writes_nothing,
    dropping_leaves_nothing_and_can_be_repeated,
    eight_processes_can_migrate_at_once,
    eight_processes_can_upgrade_at_once,
    every_table_is_created,
    migrating_twice_changes_nothing,
    outboxes_with_other_prefixes_live_side_by_side,
);

pub(crate) async fn every_table_is_created(database: TestDatabase) {
    let db = database.connect().await;

    migrate(&db).await.unwrap();

    assert_eq!(tables(&db).await, TABLES);
}

pub(crate) async fn migrating_twice_changes_nothing(database: TestDatabase) {
    let db = database.connect().await;
    migrate(&db).await.unwrap();
    db.execute_unprepared("UPDATE outbox_lane SET abandoned = 2 WHERE lane = 5").await.unwrap();

    migrate(&db).await.unwrap();

    assert_eq!(number(&db, "SELECT count(*) FROM outbox_lane WHERE abandoned = 2").await, 1);
    assert_eq!(number(&db, "SELECT count(*) FROM outbox_meta").await, 1);
    let status = status(&db).await.unwrap();
    assert_eq!(status.applied, [CREATE]);
    assert!(status.pending.is_empty() && status.unknown.is_empty());
}

pub(crate) async fn eight_processes_can_migrate_at_once(database: TestDatabase) {
    migrate_at_once(&database).await;

    let db = database.connect().await;
    assert_eq!(texts(&db, "SELECT version FROM outbox_migrations").await, [CREATE]);
    assert_eq!(number(&db, "SELECT count(*) FROM outbox_lane").await, 64);
}

/// An upgrade begins by reading the history: a lock taken at the first write comes too late.
pub(crate) async fn eight_processes_can_upgrade_at_once(database: TestDatabase) {
    let db = database.connect().await;
    <Migrator as MigratorTrait>::install(&db).await.unwrap();

    migrate_at_once(&database).await;

    assert_eq!(texts(&db, "SELECT version FROM outbox_migrations").await, [CREATE]);
}

pub(crate) async fn all_lanes_are_there_from_the_start(database: TestDatabase) {
    let db = database.connect().await;

    migrate(&db).await.unwrap();

    let free = "SELECT count(*) FROM outbox_lane WHERE lane BETWEEN 0 AND 63 AND token IS NULL
                AND owner IS NULL AND expires_at IS NULL AND abandoned = 0 AND suspect_deaths = 0";
    assert_eq!(number(&db, free).await, 64);
    assert_eq!(number(&db, "SELECT count(*) FROM outbox_lane").await, 64);
}

pub(crate) async fn a_copy_of_a_message_has_all_of_its_columns(database: TestDatabase) {
    let db = database.connect().await;
    migrate(&db).await.unwrap();
    let message = columns(&db, "outbox_message").await;
    assert_eq!(message.len(), 30);

    for (copy, own) in [
        ("outbox_dead_letter", vec!["reason", "died_at"]),
        ("outbox_parked", vec!["parked_at"]),
        ("outbox_published", vec!["published_at", "broker_id"]),
    ] {
        let (shared, added) = {
            let mut columns = columns(&db, copy).await;
            let added = columns.split_off(message.len());
            (columns, added)
        };
        assert_eq!(shared, message, "{copy}");
        assert_eq!(added, own, "{copy}");
    }
}

pub(crate) async fn a_lane_outside_of_the_format_is_refused(database: TestDatabase) {
    let db = database.connect().await;
    migrate(&db).await.unwrap();

    for lane in [-1, 64] {
        let error = db.execute_unprepared(&message(lane)).await.unwrap_err().to_string();
        assert!(is_a_check(&error), "{error}");
    }
    for lane in [0, 63] {
        db.execute_unprepared(&message(lane)).await.unwrap();
    }
}

pub(crate) async fn a_second_row_of_meta_is_refused(database: TestDatabase) {
    let db = database.connect().await;
    migrate(&db).await.unwrap();

    for id in [1, 2] {
        let row = format!(
            "INSERT INTO outbox_meta (id, lowest_binary_version, deployment_id)
             SELECT {id}, lowest_binary_version, deployment_id FROM outbox_meta"
        );
        assert!(db.execute_unprepared(&row).await.is_err(), "{id}");
    }
}

pub(crate) async fn an_unknown_audit_action_is_refused(database: TestDatabase) {
    let db = database.connect().await;
    migrate(&db).await.unwrap();
    let entry = |action: &str| {
        format!(
            "INSERT INTO outbox_audit (id, action, message_id, actor, reason)
             SELECT deployment_id, '{action}', deployment_id, 'ops', 'test' FROM outbox_meta"
        )
    };

    let error = db.execute_unprepared(&entry("resend")).await.unwrap_err().to_string();

    assert!(is_a_check(&error), "{error}");
    db.execute_unprepared(&entry("erase")).await.unwrap();
}

pub(crate) async fn asking_for_the_status_writes_nothing(database: TestDatabase) {
    let db = database.connect().await;

    let status = status(&db).await.unwrap();

    assert_eq!(status.pending, [CREATE]);
    assert!(status.applied.is_empty() && status.unknown.is_empty());
    assert!(tables(&db).await.is_empty());
}

pub(crate) async fn dropping_leaves_nothing_and_can_be_repeated(database: TestDatabase) {
    let db = database.connect().await;
    migrate(&db).await.unwrap();
    db.execute_unprepared(&message(7)).await.unwrap();

    drop_all(&db).await.unwrap();
    drop_all(&db).await.unwrap();

    assert!(tables(&db).await.is_empty());
    migrate(&db).await.unwrap();
    assert_eq!(number(&db, "SELECT count(*) FROM outbox_message").await, 0);
}

pub(crate) async fn outboxes_with_other_prefixes_live_side_by_side(database: TestDatabase) {
    let db = database.connect().await;
    let mail = TableNames::new(None, "mail_").unwrap();

    migrate(&db).await.unwrap();
    migrate_with(&db, &mail).await.unwrap();

    assert_eq!(number(&db, "SELECT count(*) FROM mail_lane").await, 64);
    let applied = status_with(&db, &mail).await.unwrap().applied;
    assert_eq!(applied, [format!("{CREATE}@\"mail_\"")]);
    assert_eq!(texts(&db, "SELECT version FROM mail_migrations").await, applied);
    drop_all(&db).await.unwrap();
    assert_eq!(number(&db, "SELECT count(*) FROM mail_lane").await, 64);
}

pub(crate) async fn a_foreign_table_is_refused_by_name(database: TestDatabase) {
    let db = database.connect().await;
    db.execute_unprepared("CREATE TABLE outbox_worker (name text)").await.unwrap();

    let error = migrate(&db).await.unwrap_err().to_string();

    assert!(error.contains("the name of outbox_worker, which exists already"), "{error}");
    let mut there = tables(&db).await;
    // MariaDB keeps each table as soon as it is made, and the history is made first.
    there.retain(|table| table != "outbox_migrations" || !database.is_mariadb());
    assert_eq!(there, ["outbox_worker"]);
}

/// For where the schema can change in a transaction.
pub(crate) async fn a_failed_migration_leaves_nothing(database: TestDatabase) {
    let db = database.connect().await;
    // Stands in the way of an index, so that the tables before it are created first.
    db.execute_unprepared("CREATE TABLE outbox_audit_message (name text)").await.unwrap();

    migrate(&db).await.unwrap_err();
    Migrator::up(&db, None).await.unwrap_err();

    // The unlocked way has made its own table before it began.
    assert_eq!(tables(&db).await, ["outbox_audit_message", "outbox_migrations"]);
}

pub(crate) async fn a_newer_schema_is_left_alone(database: TestDatabase) {
    let db = database.connect().await;
    migrate(&db).await.unwrap();
    db.execute_unprepared("INSERT INTO outbox_migrations VALUES ('m20990101_000001_outbox_x', 0)")
        .await
        .unwrap();

    migrate(&db).await.unwrap();
    Migrator::up(&db, None).await.unwrap();
    let status = status(&db).await.unwrap();
    let error = drop_all(&db).await.unwrap_err().to_string();

    assert_eq!(status.applied, [CREATE]);
    assert_eq!(status.unknown, ["m20990101_000001_outbox_x"]);
    assert!(error.contains("a newer version of the outbox schema is applied"), "{error}");
    assert_eq!(tables(&db).await, TABLES);
}

async fn migrate_at_once(database: &TestDatabase) {
    let start = Arc::new(Barrier::new(8));
    let mut processes = JoinSet::new();
    for _ in 0..8 {
        let (database, start) = (database.clone(), start.clone());
        processes.spawn(async move {
            let db = database.connect().await;
            start.wait().await;
            migrate(&db).await
        });
    }

    let outcomes = processes.join_all().await;

    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
}

/// MariaDB tells the check by its name alone.
pub(crate) fn is_a_check(error: &str) -> bool {
    let error = error.to_lowercase();
    error.contains("check constraint") || error.contains("constraint `outbox_")
}

/// Stages one record by its necessary columns; the id is any, the payload empty.
pub(crate) fn message(lane: i32) -> String {
    format!(
        "INSERT INTO outbox_message (lane, id, format, event_type, event_version, topic, source,
                                     content_type, payload, size, occurred_at)
         SELECT {lane}, deployment_id, 1, 'orders.order_placed', 1, 'orders', '/test',
                'application/json', '', 0, died FROM outbox_meta,
                (SELECT CURRENT_TIMESTAMP AS died) AS clock"
    )
}
