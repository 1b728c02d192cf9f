//! Pools on PostgreSQL.

use std::sync::Arc;
use std::time::Duration;

use outbox_core::StoreError;
use sea_orm::sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions};
use sea_orm::sqlx::{AssertSqlSafe, ConnectOptions, Error, Executor};
use sea_orm::{DatabaseConnection, SqlxPostgresConnector};

use super::given_back::answers;
use super::{PoolOptions, try_once, unreachable, unusable_url};

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
    let (shown, limit) = (shown(&server), options.acquire_timeout);
    let failed = |error: Error| unreachable(&shown, limit, &error);
    try_once::<PgConnection>(&server, limit).await.map_err(failed)?;

    let session: Arc<str> = session(&options).into();
    let pool = PgPoolOptions::new()
        .max_connections(options.max_connections.get())
        .acquire_timeout(options.acquire_timeout)
        // A connection that broke is found by the statement itself, and the caller repeats.
        .test_before_acquire(false)
        .after_release(|connection, _| Box::pin(answers(connection)))
        .after_connect(move |connection, _| {
            let session = Arc::clone(&session);
            Box::pin(async move {
                connection.execute(AssertSqlSafe(session.to_string())).await.map(drop)
            })
        })
        .connect_with(server)
        .await
        .map_err(failed)?;
    Ok(SqlxPostgresConnector::from_sqlx_postgres_pool(pool))
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

/// What an operator calls it. The user and the password stay out.
fn shown(server: &PgConnectOptions) -> String {
    let place = match server.get_socket() {
        Some(socket) => format!("{} port {}", socket.display(), server.get_port()),
        None => format!("{} port {}", server.get_host(), server.get_port()),
    };
    format!("PostgreSQL at {place}")
}
