//! Pools on PostgreSQL.

use std::sync::Arc;
use std::time::Duration;

use outbox_core::{StoreError, StoreErrorKind};
use sea_orm::sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions};
use sea_orm::sqlx::{AssertSqlSafe, ConnectOptions, Connection, Error, Executor};
use sea_orm::{DatabaseConnection, SqlxPostgresConnector};

use super::{CONNECT, PoolOptions, unusable_url};
use crate::mapping::{Cause, from_sqlx};

/// The pool is built here and not by SeaORM, whose traces and panics show the URL.
pub(super) async fn connect(
    url: &str,
    options: PoolOptions,
) -> Result<DatabaseConnection, StoreError> {
    let server: PgConnectOptions = url.parse().map_err(|_: Error| {
        unusable_url(
            "the database URL cannot be parsed: its form is \
             postgres://user:password@host:port/database, special characters as %XX",
        )
    })?;
    let server = server.application_name(&options.application_name).disable_statement_logging();
    try_once(&server, options.acquire_timeout).await?;

    let session: Arc<str> = session(&options).into();
    let pool = PgPoolOptions::new()
        .max_connections(options.max_connections.get())
        .acquire_timeout(options.acquire_timeout)
        // A connection that broke is found by the statement itself, and the caller repeats.
        .test_before_acquire(false)
        .after_connect(move |connection, _| {
            let session = Arc::clone(&session);
            Box::pin(async move {
                connection.execute(AssertSqlSafe(session.to_string())).await.map(drop)
            })
        })
        .connect_with(server.clone())
        .await
        .map_err(|error| unreachable(&server, options.acquire_timeout, &error))?;
    Ok(SqlxPostgresConnector::from_sqlx_postgres_pool(pool))
}

/// Connects without the pool, which takes a refused connection for a server that is starting and
/// does not tell what was wrong.
async fn try_once(server: &PgConnectOptions, limit: Duration) -> Result<(), StoreError> {
    let attempt = async {
        let connection = PgConnection::connect_with(server).await?;
        connection.close().await
    };
    let ended = tokio::time::timeout(limit, attempt).await.unwrap_or(Err(Error::PoolTimedOut));
    ended.map_err(|error| unreachable(server, limit, &error))
}

/// Set by a statement and not at the start of the session, because poolers refuse it there.
fn session(options: &PoolOptions) -> String {
    let limits = [
        ("statement_timeout", options.statement_timeout),
        ("lock_timeout", options.lock_timeout),
        ("idle_in_transaction_session_timeout", options.idle_in_transaction_timeout),
    ];
    // The server takes no more milliseconds than that.
    let milliseconds = |limit: Duration| limit.as_millis().min(2_147_483_647);
    let limits = limits.map(|(name, limit)| format!("SET {name} = {}", milliseconds(limit)));
    format!("SET default_transaction_isolation = 'read committed'; {}", limits.join("; "))
}

fn unreachable(server: &PgConnectOptions, limit: Duration, error: &Error) -> StoreError {
    let place = match server.get_socket() {
        Some(socket) => format!("{} port {}", socket.display(), server.get_port()),
        None => format!("{} port {}", server.get_host(), server.get_port()),
    };
    let why = match error {
        Error::Io(error) => error.to_string(),
        Error::PoolTimedOut => format!("no answer within {limit:?}"),
        Error::Tls(_) => "no agreement on TLS".to_owned(),
        other => return refused(&place, &from_sqlx(CONNECT, other)),
    };
    let cause = Cause(format!("PostgreSQL at {place} cannot be reached: {why}"));
    StoreError::new(StoreErrorKind::Unavailable, CONNECT).with_source(cause)
}

/// The server was reached and said no.
fn refused(place: &str, error: &StoreError) -> StoreError {
    let why = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    let cause = Cause(format!("PostgreSQL at {place} refuses the connection: {why}"));
    StoreError::new(error.kind(), CONNECT).with_source(cause)
}
