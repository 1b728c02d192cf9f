//! Who migrates keeps others out, for a time.

use std::time::{Duration, Instant};

use outbox_migration::migrate;
use sea_orm_migration::sea_orm::{ConnectOptions, Database, DatabaseConnection, TransactionTrait};

use outbox_test_databases::{TestDatabase, number, on_mariadb};

use crate::catalogue::tables;

const LOCK: &str = "CONCAT('outbox_migrations ', LEFT(SHA2(DATABASE(), 256), 40))";

#[tokio::test]
async fn a_process_waits_for_the_one_that_migrates() {
    on_mariadb(async |database| {
        let db = database.connect().await;
        let holder = Holder::of_the_lock_of(&database).await;
        let waiting = tokio::spawn({
            let db = database.connect().await;
            async move { migrate(&db).await }
        });
        until_a_session_is_at(&db, "state = 'User lock'").await;
        assert!(tables(&db).await.is_empty());

        holder.let_go().await;

        waiting.await.unwrap().unwrap();
        assert_eq!(number(&db, "SELECT count(*) FROM outbox_lane").await, 64);
    })
    .await;
}

#[tokio::test]
async fn a_process_that_waited_too_long_says_for_what() {
    on_mariadb(async |database| {
        let holder = Holder::of_the_lock_of(&database).await;
        let impatient = impatient(&database).await;

        let error = migrate(&impatient).await.unwrap_err().to_string();

        assert!(
            error.contains("another process has been migrating this database for 1 s"),
            "{error}"
        );
        holder.let_go().await;
        migrate(&impatient).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_table_in_use_is_not_waited_for_without_end() {
    on_mariadb(async |database| {
        let impatient = impatient(&database).await;
        migrate(&impatient).await.unwrap();
        let user = database.connect().await.begin().await.unwrap();
        assert_eq!(number(&user, "SELECT count(*) FROM outbox_message").await, 0);

        let error = outbox_migration::drop_all(&impatient).await.unwrap_err().to_string();

        assert!(error.contains("Lock wait timeout exceeded"), "{error}");
        user.rollback().await.unwrap();
        outbox_migration::drop_all(&impatient).await.unwrap();
        assert!(tables(&impatient).await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn another_database_is_migrated_meanwhile() {
    on_mariadb(async |one| {
        on_mariadb(async |other| {
            let holder = Holder::of_the_lock_of(&one).await;

            migrate(&impatient(&other).await).await.unwrap();

            holder.let_go().await;
        })
        .await;
    })
    .await;
}

/// Waits until the server shows a session of this database that is there.
pub(super) async fn until_a_session_is_at(db: &DatabaseConnection, place: &str) {
    let sql = format!(
        "SELECT count(*) FROM information_schema.processlist WHERE db = DATABASE() AND {place}"
    );
    let begun = Instant::now();
    while number(db, &sql).await == 0 {
        assert!(begun.elapsed() < Duration::from_mins(1), "no session came to {place}");
        tokio::task::yield_now().await;
    }
}

/// A session that holds the lock.
struct Holder(DatabaseConnection);

impl Holder {
    async fn of_the_lock_of(database: &TestDatabase) -> Self {
        let db = database.connect_with(1).await;
        assert_eq!(number(&db, &format!("SELECT GET_LOCK({LOCK}, 0)")).await, 1);
        Self(db)
    }

    async fn let_go(self) {
        assert_eq!(number(&self.0, &format!("SELECT RELEASE_LOCK({LOCK})")).await, 1);
    }
}

/// A pool that waits for a second at most.
async fn impatient(database: &TestDatabase) -> DatabaseConnection {
    let mut options = ConnectOptions::new(&database.url);
    options.max_connections(1).acquire_timeout(Duration::from_secs(1)).sqlx_logging(false);
    Database::connect(options).await.unwrap()
}
