//! Pools on SQLite.

use std::time::{Duration, Instant};

use outbox_core::{StoreError, StoreErrorKind};
use sea_orm::sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous,
};
use sea_orm::sqlx::{ConnectOptions, Error};
use sea_orm::{DatabaseConnection, SqlxSqliteConnector};

use super::{CONNECT, PoolOptions, unusable_url};
use crate::mapping::{Cause, from_sqlx};

/// How long a file that others write to is left alone between two tries.
const BUSY_PAUSE: Duration = Duration::from_millis(20);

pub(super) async fn connect(
    url: &str,
    options: &PoolOptions,
) -> Result<DatabaseConnection, StoreError> {
    let file: SqliteConnectOptions = url.parse().map_err(|_: Error| {
        unusable_url("the database URL cannot be parsed: its form is sqlite:///folder/file")
    })?;
    let file = file
        .create_if_missing(false)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(options.lock_timeout)
        .disable_statement_logging();
    let pool = SqlitePoolOptions::new()
        .max_connections(options.max_connections.get())
        .acquire_timeout(options.acquire_timeout)
        .test_before_acquire(false);
    let until = Instant::now() + options.acquire_timeout;
    loop {
        match pool.clone().connect_with(file.clone()).await {
            Ok(pool) => return Ok(SqlxSqliteConnector::from_sqlx_sqlite_pool(pool)),
            // The change to a write-ahead log needs the file alone, and SQLite does not wait for
            // it as it waits for a writer.
            Err(error) if is_busy(&error) && Instant::now() < until => {
                tokio::time::sleep(BUSY_PAUSE).await;
            }
            Err(error) => return Err(unusable(&file, &error)),
        }
    }
}

fn is_busy(error: &Error) -> bool {
    from_sqlx(CONNECT, error).kind() == StoreErrorKind::Conflict
}

fn unusable(file: &SqliteConnectOptions, error: &Error) -> StoreError {
    let error = from_sqlx(CONNECT, error);
    if !file.get_filename().exists() {
        let place = file.get_filename().display();
        let cause = Cause(format!(
            "SQLite file {place} does not exist: the application makes it, a worker never does"
        ));
        return StoreError::new(error.kind(), CONNECT).with_source(cause);
    }
    let why = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    let place = file.get_filename().display();
    let cause = Cause(format!("SQLite file {place} cannot be used: {why}"));
    StoreError::new(error.kind(), CONNECT).with_source(cause)
}
