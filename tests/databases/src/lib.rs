//! A database of its own for each test.
//!
//! `tests/run` starts the servers. Where a server's variable is not set, the test fails: a missing
//! service is no reason to skip.

#![expect(clippy::expect_used, reason = "a test that cannot have its database must fail")]
#![expect(
    clippy::missing_panics_doc,
    reason = "every function panics when the database is missing"
)]

mod own_server;
mod way;

use std::future::Future;
use std::ops::Deref;

pub use own_server::OwnPostgres;

use sea_orm::{
    ConnectOptions, ConnectionTrait, Database, DatabaseConnection, DbBackend, Statement,
};
use uuid::Uuid;
pub use way::{Asked, Way};

/// The variable that names a MariaDB on which databases and users can be made.
pub const MARIADB_URL: &str = "OUTBOX_TEST_MARIADB_URL";

/// The variable that names a PostgreSQL on which databases can be made.
pub const POSTGRES_URL: &str = "OUTBOX_TEST_POSTGRES_URL";

/// An empty database that ends with the test.
#[derive(Clone, Debug)]
pub struct TestDatabase {
    /// How to reach it.
    pub url: String,
}

impl TestDatabase {
    /// A small pool.
    pub async fn connect(&self) -> DatabaseConnection {
        self.connect_with(2).await
    }

    /// A pool with so many connections at most.
    pub async fn connect_with(&self, connections: u32) -> DatabaseConnection {
        connect(&self.url, connections).await
    }

    /// Its name on its server; of a SQLite, the file.
    pub fn name(&self) -> String {
        let address = self.url.split('?').next().unwrap_or_default();
        address.rsplit('/').next().unwrap_or_default().to_owned()
    }

    /// The same database for another user of the server.
    pub fn url_as(&self, user: &str, password: &str) -> String {
        let (scheme, rest) = self.url.split_once("://").unwrap_or_default();
        let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
        format!("{scheme}://{user}:{password}@{place}")
    }

    /// Whether it is a MariaDB, with the isolation and the SQL mode that it has by itself.
    pub fn is_mariadb(&self) -> bool {
        self.url.starts_with("mysql")
    }

    /// Whether it is a PostgreSQL.
    pub fn is_postgres(&self) -> bool {
        self.url.starts_with("postgres")
    }
}

/// A database that is lent to whoever holds this, and ends with it.
#[derive(Debug)]
pub struct Lent {
    database: TestDatabase,
    _end: End,
}

impl Deref for Lent {
    type Target = TestDatabase;

    fn deref(&self) -> &TestDatabase {
        &self.database
    }
}

/// A SQLite file of its own.
pub fn lend_sqlite() -> Lent {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("outbox.sqlite");
    let database = TestDatabase { url: format!("sqlite://{}?mode=rwc", file.display()) };
    Lent { database, _end: End::Folder(folder) }
}

/// A PostgreSQL database of its own.
pub async fn lend_postgres() -> Lent {
    let server = std::env::var(POSTGRES_URL).expect(
        "OUTBOX_TEST_POSTGRES_URL is not set: run `tests/run`, which starts a PostgreSQL, or set it",
    );
    lend(server).await
}

/// A MariaDB database of its own.
///
/// Other databases whose names begin with its name end with it.
pub async fn lend_mariadb() -> Lent {
    let server = std::env::var(MARIADB_URL).expect(
        "OUTBOX_TEST_MARIADB_URL is not set: run `tests/run`, which starts a MariaDB, or set it",
    );
    lend(server).await
}

async fn lend(server: String) -> Lent {
    let name = format!("outbox_test_{}", Uuid::new_v4().simple());
    run(&connect(&server, 1).await, &format!("CREATE DATABASE {name}")).await;
    let database = TestDatabase { url: with_database(&server, &name) };
    Lent { database, _end: End::Database(Doomed { server, name }) }
}

/// Runs a case on a SQLite file of its own.
pub async fn on_sqlite<C, F>(case: C)
where
    C: FnOnce(TestDatabase) -> F,
    F: Future<Output = ()>,
{
    let lent = lend_sqlite();
    case(lent.database.clone()).await;
}

/// Runs a case on a PostgreSQL database of its own, which is dropped also after a failed test.
pub async fn on_postgres<C, F>(case: C)
where
    C: FnOnce(TestDatabase) -> F,
    F: Future<Output = ()>,
{
    let lent = lend_postgres().await;
    case(lent.database.clone()).await;
}

/// Runs a case on a MariaDB database of its own, which is dropped also after a failed test.
pub async fn on_mariadb<C, F>(case: C)
where
    C: FnOnce(TestDatabase) -> F,
    F: Future<Output = ()>,
{
    let lent = lend_mariadb().await;
    case(lent.database.clone()).await;
}

/// What is done when nobody needs a database any longer.
#[derive(Debug)]
#[expect(dead_code, reason = "each is there to be dropped")]
enum End {
    Database(Doomed),
    Folder(tempfile::TempDir),
}

/// A database to be dropped.
#[derive(Debug)]
struct Doomed {
    server: String,
    name: String,
}

impl Drop for Doomed {
    /// On a thread with a runtime of its own: the test's runtime cannot be waited for from here, and
    /// may be gone when a test panics.
    fn drop(&mut self) {
        let (server, name) = (self.server.clone(), self.name.clone());
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                let admin = connect(&server, 1).await;
                match admin.get_database_backend() {
                    DbBackend::MySql => drop_on_mariadb(&admin, &name).await,
                    _ => run(&admin, &format!("DROP DATABASE {name} WITH (FORCE)")).await,
                }
            });
        });
        // A failure is told by the thread's own panic; a second one here would end the process.
        let _ = dropping.join();
    }
}

/// A database in use is not dropped before its last transaction ends, so its sessions are ended.
async fn drop_on_mariadb(admin: &DatabaseConnection, name: &str) {
    let named = |column: &str| format!("LEFT({column}, {}) = '{name}'", name.len());
    let used = format!(
        "SELECT CAST(id AS CHAR) FROM information_schema.processlist WHERE {}",
        named("db")
    );
    for session in texts(admin, &used).await {
        // It may have ended since.
        let _ = admin.execute_unprepared(&format!("KILL {session}")).await;
    }
    let made = format!(
        "SELECT schema_name FROM information_schema.schemata WHERE {}",
        named("schema_name")
    );
    for database in texts(admin, &made).await {
        run(admin, &format!("DROP DATABASE `{}`", database.replace('`', "``"))).await;
    }
}

/// The first column of each row, as text.
pub async fn texts(db: &impl ConnectionTrait, sql: &str) -> Vec<String> {
    let statement = Statement::from_string(db.get_database_backend(), sql);
    let rows = db.query_all_raw(statement).await.expect("a query that works");
    rows.iter().map(|row| row.try_get_by_index(0).expect("a text column")).collect()
}

/// The one number that a query answers.
pub async fn number(db: &impl ConnectionTrait, sql: &str) -> i64 {
    let statement = Statement::from_string(db.get_database_backend(), sql);
    let row = db.query_one_raw(statement).await.expect("a query that works").expect("one row");
    row.try_get_by_index(0).expect("a number column")
}

/// Runs a statement that must work.
pub async fn run(db: &impl ConnectionTrait, sql: &str) {
    if let Err(error) = db.execute_unprepared(sql).await {
        panic_with(sql, &error);
    }
}

#[expect(clippy::panic, reason = "the test cannot go on")]
fn panic_with(sql: &str, error: &sea_orm::DbErr) -> ! {
    panic!("{sql}: {error}")
}

async fn connect(url: &str, connections: u32) -> DatabaseConnection {
    let mut options = ConnectOptions::new(url);
    options.max_connections(connections).sqlx_logging(false);
    Database::connect(options).await.expect("a database that answers")
}

/// The same server, another database: what follows the host up to the parameters is its name.
fn with_database(url: &str, name: &str) -> String {
    let (address, parameters) = url.split_once('?').unwrap_or((url, ""));
    let host = address.find("://").expect("a URL") + "://".len();
    let end = address[host..].find('/').map_or(address.len(), |slash| host + slash);
    format!("{}/{name}?{parameters}", &address[..end])
}
