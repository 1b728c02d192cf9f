//! One session: a store over a pool of one connection, on a thread of its own.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use outbox_core::{OutboxStore, Outcome, Settled, StoreError, StoreErrorKind, TableNames};
use outbox_seaorm::{OutboxSettings, PoolOptions, SeaOrmStore, connect, scope};
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbBackend, SqliteTransactionMode,
    TransactionOptions, TransactionTrait,
};
use tokio::sync::mpsc::{self, UnboundedSender};

use super::gate::{Event, Gate, Stops};
use super::proxy::{Wire, listen};
use super::server::Server;
use crate::database::SOURCE;

/// What a session does in one interleaving.
pub(crate) type Script = Box<dyn FnOnce(Hands) -> BoxFuture<'static, ()> + Send>;

/// A session that lives as long as the test, so that its statements are prepared but once.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) gate: Arc<Gate>,
    scripts: UnboundedSender<Play>,
}

struct Play(Script);

impl std::fmt::Debug for Play {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Play")
    }
}

/// What a script works with.
#[derive(Clone, Debug)]
pub(crate) struct Hands {
    pub(crate) db: DatabaseConnection,
    pub(crate) store: SeaOrmStore,
    gate: Arc<Gate>,
}

impl Session {
    pub(crate) async fn open(
        server: &Server,
        number: usize,
        events: UnboundedSender<Event>,
        stops: Stops,
    ) -> Self {
        let gate = Gate::new(number, events);
        let url = behind_gate(server, &gate).await;
        let (scripts, mut plays) = mpsc::unbounded_channel::<Play>();
        let (opened, open) = tokio::sync::oneshot::channel();
        let inner = Arc::clone(&gate);
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async move {
                let hands = Hands::open(&url, inner).await;
                hands.gate.close(stops);
                opened.send(()).unwrap();
                while let Some(Play(script)) = plays.recv().await {
                    hands.play(script).await;
                }
            });
        });
        open.await.unwrap();
        Self { gate, scripts }
    }

    pub(crate) fn begin(&self, script: Script) {
        self.scripts.send(Play(script)).unwrap();
    }
}

/// The way to the database that leads past the gate. A file has none: there the pool tells of each
/// statement, after it.
async fn behind_gate(server: &Server, gate: &Arc<Gate>) -> String {
    let (wire, plain) = match server.backend {
        DbBackend::MySql => (Wire::MySql, "ssl-mode=disabled"),
        DbBackend::Postgres => (Wire::Postgres, "sslmode=disable"),
        _ => return server.url.clone(),
    };
    let (before, rest) = server.url.split_once("://").unwrap();
    let (place, path) = rest.split_once('/').unwrap();
    let (user, host) = place.rsplit_once('@').unwrap_or(("", place));
    let port = listen(host.to_owned(), wire, Arc::clone(gate), server.clock.clone()).await;
    format!("{before}://{user}@127.0.0.1:{port}/{path}&{plain}")
}

impl Hands {
    async fn open(url: &str, gate: Arc<Gate>) -> Self {
        let options = PoolOptions {
            max_connections: std::num::NonZeroU32::MIN,
            // On SQLite who finds another writer is told at once; elsewhere the schedule ends a wait.
            lock_timeout: Duration::ZERO,
            statement_timeout: Duration::ZERO,
            idle_in_transaction_timeout: Duration::ZERO,
            ..PoolOptions::default()
        };
        let mut db = connect(url, options).await.unwrap();
        match db.get_database_backend() {
            DbBackend::Postgres => {
                let sql = "SELECT pg_backend_pid()";
                let row = crate::database::rows(&db, sql).await;
                let number: i32 = row[0].try_get_by_index(0).unwrap();
                gate.connected(u64::try_from(number).unwrap());
            }
            DbBackend::Sqlite => {
                let stop = Arc::clone(&gate);
                db.set_metric_callback(move |told| stop.pass_blocking(&told.statement.sql));
            }
            _ => {}
        }
        let store = SeaOrmStore::new(db.clone(), TableNames::default()).unwrap();
        Self { db, store, gate }
    }

    async fn play(&self, script: Script) {
        if self.has_one_writer() {
            self.gate.pass_blocking("the first statement");
        }
        let played = scope(OutboxSettings::new(SOURCE), script(self.clone()));
        let ended = AssertUnwindSafe(played).catch_unwind().await;
        self.gate.end(ended.map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            text.unwrap_or_else(|| "a script panicked".to_owned())
        }));
    }

    /// One call of the store.
    ///
    /// On PostgreSQL a call is one statement, and its transaction ends with it. Here it stays open
    /// for one step more, as it does for a moment on every server.
    ///
    /// A call is refused only where there is one writer at a time; its caller repeats it.
    pub(crate) async fn call<T, F>(&self, call: impl Fn(SeaOrmStore) -> F) -> T
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        self.call_and(true, call).await
    }

    /// As [`Hands::call`], but what was done on PostgreSQL does not take effect.
    pub(crate) async fn call_and<T, F>(&self, commits: bool, call: impl Fn(SeaOrmStore) -> F) -> T
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        loop {
            let called = {
                self.on_postgres("BEGIN").await;
                call(self.store.clone()).await
            };
            match called {
                Ok(answer) => {
                    self.on_postgres(if commits { "COMMIT" } else { "ROLLBACK" }).await;
                    return answer;
                }
                Err(error) if self.may_repeat(&error) => self.refuse(),
                Err(error) => panic!("{error}: {:?}", std::error::Error::source(&error)),
            }
        }
    }

    /// Settles in the store's own transaction.
    pub(crate) async fn settle(&self, outcomes: &[Outcome]) -> Settled {
        self.call_alone(|store| async move { store.settle(outcomes).await }).await
    }

    /// One call of the store in the store's own transaction.
    pub(crate) async fn call_alone<T, F>(&self, call: impl Fn(SeaOrmStore) -> F) -> T
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        loop {
            match call(self.store.clone()).await {
                Ok(answer) => return answer,
                Err(error) if self.may_repeat(&error) => self.refuse(),
                Err(error) => panic!("{error}: {:?}", std::error::Error::source(&error)),
            }
        }
    }

    /// A transaction of somebody else who writes.
    pub(crate) async fn begin_to_write(&self) -> DatabaseTransaction {
        let options = TransactionOptions {
            sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
            ..TransactionOptions::default()
        };
        loop {
            match self.db.begin_with_options(options).await {
                Ok(txn) => return txn,
                Err(error) if self.has_one_writer() => {
                    assert!(error.to_string().contains("locked"), "{error}");
                    self.refuse();
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Waits for the writer that was in the way.
    pub(crate) fn refuse(&self) {
        self.gate.refuse();
    }

    fn may_repeat(&self, error: &StoreError) -> bool {
        self.has_one_writer() && error.kind() == StoreErrorKind::Conflict
    }

    pub(crate) fn is_mariadb(&self) -> bool {
        self.db.get_database_backend() == DbBackend::MySql
    }

    pub(crate) fn has_one_writer(&self) -> bool {
        self.db.get_database_backend() == DbBackend::Sqlite
    }

    async fn on_postgres(&self, sql: &str) {
        if self.db.get_database_backend() == DbBackend::Postgres {
            self.db.execute_unprepared(sql).await.unwrap();
        }
    }
}

/// What scripts leave for the judge.
#[derive(Debug)]
pub(crate) struct Told<T>(Arc<Mutex<Vec<T>>>);

impl<T> Told<T> {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    pub(crate) fn tell(&self, told: T) {
        self.0.lock().unwrap().push(told);
    }

    pub(crate) fn take(&self) -> Vec<T> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl<T> Clone for Told<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}
