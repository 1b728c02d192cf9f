//! Several outboxes in one worker: a dispatcher for each, all ended by one signal.

use std::collections::HashSet;
use std::sync::Arc;

use outbox_core::{EventId, Lane, TableNames};
use outbox_seaorm::{EventExt, OutboxSettings, PoolOptions, SeaOrmStore, Stage, connect, scope};
use outbox_test_databases::{TestDatabase, lend_sqlite, number, on_mariadb, on_postgres};
use outbox_testing::ScriptedPublisher;
use outbox_tests::process::PATIENCE;
use outbox_tests::shop::Repriced;
use outbox_worker::{CancellationToken, Dispatcher, Drained};
use sea_orm::{DatabaseConnection, DbBackend, TransactionTrait};
use tokio::task::JoinHandle;

const EVENTS: usize = 20;

/// An outbox, and the dispatcher that serves it.
struct Served {
    names: TableNames,
    db: DatabaseConnection,
    publisher: ScriptedPublisher,
    running: JoinHandle<Drained>,
}

impl Served {
    async fn start(
        database: &TestDatabase,
        schema: Option<&str>,
        prefix: &str,
        shutdown: &CancellationToken,
    ) -> Self {
        let names = TableNames::new(schema, prefix).unwrap();
        let db = database.connect().await;
        outbox_migration::migrate_with(&db, &names).await.unwrap();
        let pool = connect(&database.url, PoolOptions::default()).await.unwrap();
        let store = Arc::new(SeaOrmStore::new(pool, names.clone()).unwrap());
        let publisher = ScriptedPublisher::new();
        let dispatcher = Dispatcher::builder(store, Arc::new(publisher.clone())).build().unwrap();
        let running = tokio::spawn(dispatcher.run(shutdown.clone()));
        Self { names, db, publisher, running }
    }

    /// Stages one event in a transaction of its own.
    async fn stage(&self, order_id: i32) -> EventId {
        let id = EventId::new();
        let settings = OutboxSettings::new("https://shop.example").tables(self.names.clone());
        let staging = async {
            let txn = self.db.begin().await.unwrap();
            txn.stage(Repriced { order_id, total: 1 }.with_id(id)).await.unwrap();
            txn.commit().await.unwrap();
        };
        scope(settings, staging).await;
        id
    }

    async fn sends_only(&self, staged: &HashSet<EventId>) {
        let arrived = self.publisher.accepted_at_least(EVENTS);
        let sent = tokio::time::timeout(PATIENCE, arrived).await.expect("every event in time");
        assert_eq!(sent.len(), EVENTS, "{:?}", self.names);
        assert_eq!(&HashSet::from_iter(sent), staged, "{:?}", self.names);
    }

    /// Everything is settled and every lane given back.
    async fn ends(self) {
        let drained = self.running.await.unwrap();
        assert_eq!(drained.released, usize::from(Lane::COUNT), "{:?}", self.names);
        let quote = if self.db.get_database_backend() == DbBackend::MySql { '`' } else { '"' };
        let table = |word: &str| self.names.quoted(word, quote);
        let left = format!("SELECT count(*) FROM {}", table("message"));
        assert_eq!(number(&self.db, &left).await, 0, "{:?}", self.names);
        let leased = format!("SELECT count(*) FROM {} WHERE token IS NOT NULL", table("lane"));
        assert_eq!(number(&self.db, &leased).await, 0, "{:?}", self.names);
    }
}

/// Events of the same keys, and so of the same lanes, staged into each outbox by turns.
async fn serve(outboxes: Vec<Served>, shutdown: CancellationToken) {
    let mut staged = vec![HashSet::new(); outboxes.len()];
    for event in 0..i32::try_from(EVENTS).unwrap() {
        for (outbox, staged) in outboxes.iter().zip(&mut staged) {
            staged.insert(outbox.stage(event).await);
        }
    }
    for (outbox, staged) in outboxes.iter().zip(&staged) {
        outbox.sends_only(staged).await;
    }

    shutdown.cancel();
    for outbox in outboxes {
        outbox.ends().await;
    }
}

/// Three in one database, two of whose names differ in one capital, and one in a file.
async fn three_here_and_one_in_a_file(database: TestDatabase, schema: String) {
    let file = lend_sqlite();
    let shutdown = CancellationToken::new();
    let outboxes = vec![
        Served::start(&database, None, "outbox_", &shutdown).await,
        Served::start(&database, Some(&schema), "Outbox_", &shutdown).await,
        Served::start(&database, Some(&schema), "outbox_", &shutdown).await,
        Served::start(&file, None, "outbox_", &shutdown).await,
    ];

    serve(outboxes, shutdown).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_worker_serves_several_outboxes_on_postgres() {
    on_postgres(|database| three_here_and_one_in_a_file(database, "Side-1".to_owned())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_worker_serves_several_outboxes_on_mariadb() {
    on_mariadb(|database| {
        let schema = database.name() + "Side-1";
        three_here_and_one_in_a_file(database, schema)
    })
    .await;
}
