//! A database of its own for each test, with the outbox and a shop in it.

use std::future::Future;
use std::sync::{Arc, Mutex};

use outbox_seaorm::{OutboxSettings, PoolOptions, connect, scope};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, QueryResult, Statement};

use crate::shop;

/// What servers that ask for one are told; others take it as well.
pub(crate) const ROLE_PASSWORD: &str = "outbox";

pub(crate) const SOURCE: &str = "https://shop.example/orders";

/// A database that ends with the test.
#[derive(Clone, Debug)]
pub(crate) struct TestDatabase {
    pub(crate) url: String,
    pub(crate) db: DatabaseConnection,
    /// The pool of the workers. On a MariaDB the application has one of another isolation.
    pub(crate) workers: DatabaseConnection,
    plain: outbox_test_databases::TestDatabase,
    sent: Arc<Mutex<Vec<String>>>,
}

impl TestDatabase {
    async fn open(plain: outbox_test_databases::TestDatabase) -> Self {
        let mut db = plain.connect_with(5).await;
        outbox_migration::migrate(&db).await.unwrap();
        shop::create_tables(&db).await;
        let sent = Arc::<Mutex<Vec<String>>>::default();
        let log = Arc::clone(&sent);
        db.set_metric_callback(move |info| log.lock().unwrap().push(info.statement.sql.clone()));
        let mut workers = db.clone();
        if plain.is_mariadb() {
            workers = connect(&plain.url, PoolOptions::default()).await.unwrap();
            let log = Arc::clone(&sent);
            workers.set_metric_callback(move |info| {
                log.lock().unwrap().push(info.statement.sql.clone());
            });
        }
        Self { url: plain.url.clone(), db, workers, plain, sent }
    }

    /// Another pool on the same database, with at most so many connections.
    pub(crate) async fn pool(&self, connections: u32) -> DatabaseConnection {
        self.plain.connect_with(connections).await
    }

    /// Another pool on the same database, under another role with [`ROLE_PASSWORD`].
    pub(crate) async fn pool_as(&self, role: &str) -> DatabaseConnection {
        let url = self.plain.url_as(role, ROLE_PASSWORD);
        outbox_test_databases::TestDatabase { url }.connect_with(1).await
    }

    /// What this database has in common with no other.
    pub(crate) fn choose<T>(&self, mariadb: T, postgres: T, sqlite: T) -> T {
        match self.db.get_database_backend() {
            DbBackend::MySql => mariadb,
            DbBackend::Postgres => postgres,
            _ => sqlite,
        }
    }

    /// What names are quoted with.
    pub(crate) fn quote(&self) -> char {
        self.choose('`', '"', '"')
    }

    /// How many staging statements were sent since the last call.
    pub(crate) fn staged(&self) -> usize {
        let quote = self.quote();
        self.sent(&format!("INSERT INTO {quote}outbox_message{quote}")).len()
    }

    pub(crate) fn is_postgres(&self) -> bool {
        self.plain.is_postgres()
    }

    /// Statements that were sent since the last call and have this word in them.
    pub(crate) fn sent(&self, word: &str) -> Vec<String> {
        let sent = std::mem::take(&mut *self.sent.lock().unwrap());
        sent.into_iter().filter(|sql| sql.contains(word)).collect()
    }
}

pub(crate) async fn on_sqlite<C, F>(case: C)
where
    C: FnOnce(TestDatabase) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    outbox_test_databases::on_sqlite(|plain| run(case, plain)).await;
}

pub(crate) async fn on_postgres<C, F>(case: C)
where
    C: FnOnce(TestDatabase) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    outbox_test_databases::on_postgres(|plain| run(case, plain)).await;
}

pub(crate) async fn on_mariadb<C, F>(case: C)
where
    C: FnOnce(TestDatabase) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    outbox_test_databases::on_mariadb(|plain| run(case, plain)).await;
}

/// Spawned, so that a case that is not `Send` does not compile.
async fn run<C, F>(case: C, plain: outbox_test_databases::TestDatabase)
where
    C: FnOnce(TestDatabase) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    let database = TestDatabase::open(plain).await;
    let ended = tokio::spawn(scope(OutboxSettings::new(SOURCE), case(database))).await;
    if let Err(failure) = ended {
        std::panic::resume_unwind(failure.into_panic());
    }
}

/// The rows of a query.
pub(crate) async fn rows(db: &impl ConnectionTrait, sql: &str) -> Vec<QueryResult> {
    let statement = Statement::from_string(db.get_database_backend(), sql);
    db.query_all_raw(statement).await.unwrap()
}

/// The number of rows in a table.
pub(crate) async fn count(db: &impl ConnectionTrait, table: &str) -> i64 {
    let rows = rows(db, &format!("SELECT count(*) FROM {table}")).await;
    rows[0].try_get_by_index(0).unwrap()
}
