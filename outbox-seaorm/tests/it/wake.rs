//! Who wakes the worker on PostgreSQL, and when.

use std::time::Duration;

use outbox_core::WakeSource;
use outbox_seaorm::{
    CommitNotifier, Environment, OutboxError, OutboxSettings, Stage, TableNames, Wake,
    WakeListener, scope,
};
use sea_orm::sqlx::postgres::PgListener;
use sea_orm::{ActiveModelTrait, TransactionTrait};

use crate::database::{SOURCE, TestDatabase, count, on_postgres, rows};
use crate::shop::{ReportRequested, new_order};

/// What a worker hears on the outbox's channel.
struct Worker {
    listener: PgListener,
    database: TestDatabase,
    marks: usize,
}

impl Worker {
    async fn listen(database: &TestDatabase) -> Self {
        let mut listener = PgListener::connect(&database.url).await.unwrap();
        listener.listen("outbox_wake").await.unwrap();
        Self { listener, database: database.clone(), marks: 0 }
    }

    /// How often it was woken up to now. PostgreSQL delivers in the order of the commits, so that
    /// nothing that was committed before the mark comes after it.
    async fn woken(&mut self) -> usize {
        self.marks += 1;
        let mark = format!("mark {}", self.marks);
        rows(&self.database.db, &format!("SELECT pg_notify('outbox_wake', '{mark}')::text")).await;
        let mut woken = 0;
        loop {
            match self.listener.recv().await.unwrap().payload() {
                "" => woken += 1,
                payload if payload == mark => return woken,
                other => panic!("{other}"),
            }
        }
    }
}

fn under(wake: Wake) -> OutboxSettings {
    OutboxSettings::new(SOURCE).wake(wake)
}

#[tokio::test]
async fn a_transaction_wakes_the_worker_at_its_commit() {
    on_postgres(|shop| async move {
        let mut worker = Worker::listen(&shop).await;
        let txn = shop.db.begin().await.unwrap();
        new_order(1).insert(&txn).await.unwrap();
        txn.stage(ReportRequested).await.unwrap();
        assert_eq!(worker.woken().await, 0, "nothing is committed yet");

        txn.commit().await.unwrap();

        assert_eq!(worker.woken().await, 1);
        assert_eq!(count(&shop.db, "outbox_message").await, 2);
    })
    .await;
}

#[tokio::test]
async fn a_transaction_that_is_rolled_back_wakes_nobody() {
    on_postgres(|shop| async move {
        let mut worker = Worker::listen(&shop).await;
        let txn = shop.db.begin().await.unwrap();
        txn.stage(ReportRequested).await.unwrap();

        txn.rollback().await.unwrap();

        assert_eq!(worker.woken().await, 0);
    })
    .await;
}

/// Otherwise all of them would commit one after another.
#[tokio::test]
async fn only_one_open_transaction_at_a_time_will_wake_the_worker() {
    on_postgres(|shop| async move {
        let mut worker = Worker::listen(&shop).await;
        let first = shop.db.begin().await.unwrap();
        first.stage(ReportRequested).await.unwrap();

        let second = shop.db.begin().await.unwrap();
        second.stage(ReportRequested).await.unwrap();
        second.commit().await.unwrap();
        assert_eq!(worker.woken().await, 0);
        first.commit().await.unwrap();
        assert_eq!(worker.woken().await, 1);
        let third = shop.db.begin().await.unwrap();
        third.stage(ReportRequested).await.unwrap();
        third.commit().await.unwrap();

        assert_eq!(worker.woken().await, 1);
        assert_eq!(count(&shop.db, "outbox_message").await, 3);
    })
    .await;
}

#[tokio::test]
async fn without_a_wake_up_nothing_is_notified() {
    on_postgres(|shop| async move {
        for wake in [Wake::Off, Wake::AfterCommit] {
            let mut worker = Worker::listen(&shop).await;
            let txn = shop.db.begin().await.unwrap();
            scope(under(wake), txn.stage(ReportRequested)).await.unwrap();
            txn.commit().await.unwrap();

            assert_eq!(worker.woken().await, 0, "{wake:?}");
        }
        assert_eq!(count(&shop.db, "outbox_message").await, 2);
    })
    .await;
}

#[tokio::test]
async fn calls_after_commits_that_come_together_are_one_wake_up() {
    on_postgres(|shop| async move {
        let mut worker = Worker::listen(&shop).await;
        let notifier = CommitNotifier::new(shop.pool(1).await, &TableNames::default());

        // Nothing is awaited in between, so that they come together on one thread.
        (0..3).for_each(|_| notifier.notify());

        assert_eq!(worker.listener.recv().await.unwrap().payload(), "");
        assert_eq!(worker.woken().await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_listener_hears_commits_and_says_at_first_that_it_may_have_missed_some() {
    on_postgres(|shop| async move {
        let listener = WakeListener::new(&shop.pool(1).await, &TableNames::default()).unwrap();
        within(listener.woken()).await;

        let txn = shop.db.begin().await.unwrap();
        txn.stage(ReportRequested).await.unwrap();
        let mut woken = std::pin::pin!(listener.woken());
        tokio::select! {
            biased;
            () = &mut woken => panic!("nothing is committed yet"),
            () = std::future::ready(()) => {}
        }
        txn.commit().await.unwrap();

        within(woken).await;
    })
    .await;
}

/// What is committed while nobody listens is missed, so it says that once it listens again.
#[tokio::test]
async fn a_listener_that_lost_its_connection_finds_another_one() {
    on_postgres(|shop| async move {
        let listener = WakeListener::new(&shop.pool(1).await, &TableNames::default()).unwrap();
        within(listener.woken()).await;

        let end = "SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity
                   WHERE datname = current_database() AND query LIKE 'LISTEN%'";
        assert_eq!(rows(&shop.db, end).await.len(), 1);
        within(listener.woken()).await;
        let txn = shop.db.begin().await.unwrap();
        txn.stage(ReportRequested).await.unwrap();
        txn.commit().await.unwrap();

        within(listener.woken()).await;
    })
    .await;
}

async fn within(woken: impl Future<Output = ()>) {
    tokio::time::timeout(Duration::from_mins(1), woken).await.expect("it is not woken");
}

/// The channel is named like the tables, quotes and all.
#[tokio::test]
async fn an_outbox_with_a_strange_prefix_is_woken_on_its_own_channel() {
    on_postgres(|shop| async move {
        let tables = TableNames::new(None, "It's \"Mail\" ").unwrap();
        outbox_migration::migrate_with(&shop.db, &tables).await.unwrap();
        let mut listener = PgListener::connect(&shop.url).await.unwrap();
        listener.listen("It's \"Mail\" wake").await.unwrap();
        let txn = shop.db.begin().await.unwrap();
        let settings = OutboxSettings::new(SOURCE).tables(tables);

        scope(settings, txn.stage(ReportRequested)).await.unwrap();
        txn.commit().await.unwrap();

        assert_eq!(listener.recv().await.unwrap().channel(), "It's \"Mail\" wake");
    })
    .await;
}

#[test]
fn the_wake_up_can_come_from_the_environment() {
    let read = |wake: &str| {
        let vars = [("OUTBOX_SOURCE", SOURCE), ("OUTBOX_WAKE", wake)];
        OutboxSettings::from_environment(&Environment::new(
            "OUTBOX_",
            vars.map(|(name, value)| (name.to_owned(), value.to_owned())),
        ))
    };

    assert_eq!(read("after_commit").unwrap(), under(Wake::AfterCommit));
    assert_eq!(read("gated").unwrap(), OutboxSettings::new(SOURCE));
    assert_eq!(read("off").unwrap(), under(Wake::Off));
    let refused = OutboxError::from(read("always").unwrap_err()).to_string();
    assert!(refused.contains("OUTBOX_WAKE"), "{refused}");
    assert!(refused.contains("after_commit, gated or off"), "{refused}");
}
