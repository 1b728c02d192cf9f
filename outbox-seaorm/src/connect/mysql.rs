//! Pools on MariaDB and MySQL.

use std::sync::Arc;
use std::time::Duration;

use outbox_core::StoreError;
use sea_orm::sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlPoolOptions};
use sea_orm::sqlx::{AssertSqlSafe, ConnectOptions, Error, Executor, Row};
use sea_orm::{DatabaseConnection, SqlxMySqlConnector};

use super::given_back::answers;
use super::{PoolOptions, try_once, unreachable, unusable_url};

/// The pool is built here and not by SeaORM, whose traces and panics show the URL.
pub(super) async fn connect(
    url: &str,
    options: PoolOptions,
) -> Result<DatabaseConnection, StoreError> {
    let server: MySqlConnectOptions = url.parse().map_err(|_: Error| {
        unusable_url(
            "the database URL cannot be parsed: its form is \
             mysql://user:password@host:port/database, special characters as %XX",
        )
    })?;
    let server = server.disable_statement_logging();
    let (shown, limit) = (shown(&server), options.acquire_timeout);
    let failed = |error: Error| unreachable(&shown, limit, &error);
    try_once::<MySqlConnection>(&server, limit).await.map_err(failed)?;

    let options = Arc::new(options);
    let sessions = Arc::clone(&options);
    let pool = MySqlPoolOptions::new()
        .max_connections(options.max_connections.get())
        .acquire_timeout(options.acquire_timeout)
        // A connection that broke is found by the statement itself, and the caller repeats.
        .test_before_acquire(false)
        .after_release(|connection, _| Box::pin(answers(connection)))
        .after_connect(move |connection, _| {
            let options = Arc::clone(&sessions);
            Box::pin(async move { prepare(connection, &options).await })
        })
        .connect_with(server)
        .await
        .map_err(failed)?;
    Ok(SqlxMySqlConnector::from_sqlx_mysql_pool(pool))
}

/// Nothing of a session is left to the server's own settings.
async fn prepare(connection: &mut MySqlConnection, options: &PoolOptions) -> Result<(), Error> {
    let version: String = connection.fetch_one("SELECT VERSION()").await?.try_get(0)?;
    let isolation = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
    connection.execute(isolation).await?;
    let session = session(options, version.contains("MariaDB"));
    connection.execute(AssertSqlSafe(session)).await.map(drop)
}

fn session(options: &PoolOptions, is_mariadb: bool) -> String {
    let lock = seconds(options.lock_timeout);
    let mut settings = vec![
        // What does not fit is an error and not cut.
        "sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,\
         NO_ENGINE_SUBSTITUTION'"
            .to_owned(),
        format!("innodb_lock_wait_timeout = {lock}"),
        // For the lock of a table whose schema is being changed. The server takes no more.
        format!("lock_wait_timeout = {}", lock.min(31_536_000)),
    ];
    if is_mariadb {
        let statement = options.statement_timeout.as_secs_f64().min(LONGEST_STATEMENT);
        settings.push(format!("max_statement_time = {statement:.6}"));
        let idle = options.idle_in_transaction_timeout;
        let idle = if idle.is_zero() { 0 } else { seconds(idle).min(31_536_000) };
        settings.push(format!("idle_transaction_timeout = {idle}"));
    } else {
        let statement = options.statement_timeout.as_millis().min(2_147_483_647);
        settings.push(format!("max_execution_time = {statement}"));
    }
    format!("SET SESSION {}", settings.join(", SESSION "))
}

/// A year, which is what MariaDB takes.
const LONGEST_STATEMENT: f64 = 31_536_000.0;

/// Whole seconds, because that is what a lock is waited for in. Nothing is for ever.
fn seconds(limit: Duration) -> u64 {
    const FOR_EVER: u64 = 100_000_000;
    let whole = limit.as_secs().saturating_add(u64::from(limit.subsec_nanos() > 0));
    if whole == 0 { FOR_EVER } else { whole.min(FOR_EVER) }
}

/// What an operator calls it. The user and the password stay out.
fn shown(server: &MySqlConnectOptions) -> String {
    let place = match server.get_socket() {
        Some(socket) => socket.display().to_string(),
        None => format!("{} port {}", server.get_host(), server.get_port()),
    };
    format!("MariaDB or MySQL at {place}")
}
