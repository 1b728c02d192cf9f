//! The migrations inside and beside an application's own.

use outbox_migration::{Migrator, TableNames, drop_all, migrate, migrations, migrations_with};
use sea_orm_migration::{prelude::*, sea_orm::ConnectionTrait};

use outbox_test_databases::{TestDatabase, number, texts};

use crate::{catalogue::tables, promises::CREATE};

crate::on_each!(splice:
    an_application_can_splice_several_outboxes,
    an_application_can_splice_the_outbox,
    an_application_can_undo_the_splice,
    dropping_keeps_what_was_spliced,
    migrating_after_a_splice_changes_nothing,
    the_migrator_of_the_outbox_keeps_to_its_own_table,
);

const ORDERS: &str = "m20260201_000001_orders";

struct CreateOrders;

impl MigrationName for CreateOrders {
    fn name(&self) -> &'static str {
        ORDERS
    }
}

#[async_trait::async_trait]
impl MigrationTrait for CreateOrders {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let orders = "CREATE TABLE orders (id integer)";
        manager.get_connection().execute_unprepared(orders).await.map(drop)
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.get_connection().execute_unprepared("DROP TABLE orders").await.map(drop)
    }
}

/// An application without an outbox in its history.
struct Plain;

impl MigratorTrait for Plain {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![Box::new(CreateOrders)]
    }
}

/// An application with the outbox in its history.
struct Spliced;

impl MigratorTrait for Spliced {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        let mut all = Plain::migrations();
        all.extend(migrations());
        all
    }
}

/// An application with two outboxes.
struct Twice;

impl MigratorTrait for Twice {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        let mut all = Spliced::migrations();
        all.extend(migrations_with(&TableNames::new(None, "mail_").unwrap()));
        all
    }
}

pub(crate) async fn an_application_can_splice_the_outbox(database: TestDatabase) {
    let db = database.connect().await;
    Plain::up(&db, None).await.unwrap();

    Spliced::up(&db, None).await.unwrap();
    Spliced::up(&db, None).await.unwrap();

    let history = texts(&db, "SELECT version FROM seaql_migrations ORDER BY version").await;
    assert_eq!(history, [CREATE, ORDERS]);
    assert_eq!(number(&db, "SELECT count(*) FROM outbox_lane").await, 64);
    assert!(!tables(&db).await.contains(&"outbox_migrations".to_owned()));
}

pub(crate) async fn an_application_can_undo_the_splice(database: TestDatabase) {
    let db = database.connect().await;
    Spliced::up(&db, None).await.unwrap();

    Spliced::down(&db, Some(1)).await.unwrap();

    assert_eq!(tables(&db).await, ["orders", "seaql_migrations"]);
}

pub(crate) async fn an_application_can_splice_several_outboxes(database: TestDatabase) {
    let db = database.connect().await;

    Twice::up(&db, None).await.unwrap();

    assert_eq!(number(&db, "SELECT count(*) FROM outbox_lane").await, 64);
    assert_eq!(number(&db, "SELECT count(*) FROM mail_lane").await, 64);
}

pub(crate) async fn the_migrator_of_the_outbox_keeps_to_its_own_table(database: TestDatabase) {
    let db = database.connect().await;

    Plain::up(&db, None).await.unwrap();
    Migrator::up(&db, None).await.unwrap();
    migrate(&db).await.unwrap();
    Plain::up(&db, None).await.unwrap();

    assert_eq!(texts(&db, "SELECT version FROM seaql_migrations").await, [ORDERS]);
    assert_eq!(texts(&db, "SELECT version FROM outbox_migrations").await, [CREATE]);
}

pub(crate) async fn migrating_after_a_splice_changes_nothing(database: TestDatabase) {
    let db = database.connect().await;
    Spliced::up(&db, None).await.unwrap();
    db.execute_unprepared("UPDATE outbox_lane SET abandoned = 2 WHERE lane = 5").await.unwrap();

    migrate(&db).await.unwrap();

    assert_eq!(number(&db, "SELECT count(*) FROM outbox_lane WHERE abandoned = 2").await, 1);
}

pub(crate) async fn dropping_keeps_what_was_spliced(database: TestDatabase) {
    let db = database.connect().await;
    Spliced::up(&db, None).await.unwrap();
    let before = tables(&db).await;

    drop_all(&db).await.unwrap();

    assert_eq!(tables(&db).await, before);
}
