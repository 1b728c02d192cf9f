//! Pools of connections for a worker.

#[cfg(any(feature = "mysql", feature = "postgres"))]
mod given_back;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::num::NonZeroU32;
use std::time::Duration;

use outbox_core::{StoreError, StoreErrorKind};
use sea_orm::DatabaseConnection;
#[cfg(any(feature = "mysql", feature = "postgres"))]
use sea_orm::sqlx::{Connection, Error};

#[cfg(any(feature = "mysql", feature = "postgres"))]
pub(crate) use given_back::close_idle;

use crate::mapping::Cause;
#[cfg(any(feature = "mysql", feature = "postgres"))]
use crate::mapping::from_sqlx;

/// How a worker's pool behaves.
///
/// ```
/// use std::num::NonZeroU32;
/// use std::time::Duration;
///
/// use outbox_seaorm::PoolOptions;
///
/// let options = PoolOptions {
///     max_connections: NonZeroU32::MIN,
///     statement_timeout: Duration::from_secs(5),
///     ..PoolOptions::default()
/// };
/// assert_eq!(options.application_name, "outbox-worker");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolOptions {
    /// Most connections at a time. With one, a long settlement keeps leases from being renewed.
    /// Default: 4.
    pub max_connections: NonZeroU32,
    /// How long a call waits for a free connection, and how long connecting may take. A short time
    /// turns a burst into errors. Default: 5 s.
    pub acquire_timeout: Duration,
    /// How long a statement may run before the server ends it (PostgreSQL, MariaDB; on MySQL only
    /// one that reads). Zero is for ever: the statement of a caller that gave up then runs on and
    /// holds its locks. Default: 10 s.
    pub statement_timeout: Duration,
    /// How long a statement waits for a lock, on MariaDB and MySQL in whole seconds, or on SQLite
    /// for another writer. Zero is for ever, and on SQLite not at all. Default: 5 s.
    pub lock_timeout: Duration,
    /// How long a transaction may idle before the server ends its session (PostgreSQL, MariaDB).
    /// Zero is for ever: what a worker that froze had locked stays locked. Default: 10 s.
    pub idle_in_transaction_timeout: Duration,
    /// Under which name the server lists the sessions (PostgreSQL). Default: `outbox-worker`.
    pub application_name: String,
}

impl Default for PoolOptions {
    fn default() -> Self {
        Self {
            max_connections: const { NonZeroU32::new(4).unwrap() },
            acquire_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(10),
            lock_timeout: Duration::from_secs(5),
            idle_in_transaction_timeout: Duration::from_secs(10),
            application_name: "outbox-worker".to_owned(),
        }
    }
}

/// Opens a pool that is fit for a [`SeaOrmStore`](crate::SeaOrmStore), and one connection of it.
///
/// On PostgreSQL (`postgres://…`) and on MariaDB and MySQL (`mysql://…`, `mariadb://…`) each session
/// is READ COMMITTED by default and has the time limits of the options. On SQLite (`sqlite:…`) the
/// journal is a write-ahead log, every commit is on disk when it returns, and a missing file is not
/// created. No statement is logged. A connection to a server that does not answer within two seconds
/// of its return to the pool is closed: one that is half gone takes no place from others.
///
/// # Errors
/// [`StoreErrorKind::InvalidArgument`] for a URL that cannot be used,
/// [`StoreErrorKind::Unavailable`] for a database that cannot be reached. The source is a sentence
/// for the operator: what the URL must be, or host and port. No error shows the URL, the user or the
/// password.
pub async fn connect(url: &str, options: PoolOptions) -> Result<DatabaseConnection, StoreError> {
    match url.split_once(':').map(|(scheme, _)| scheme) {
        #[cfg(feature = "mysql")]
        Some("mysql" | "mariadb") => mysql::connect(url, options).await,
        #[cfg(feature = "postgres")]
        Some("postgres" | "postgresql") => postgres::connect(url, options).await,
        #[cfg(feature = "sqlite")]
        Some("sqlite") => sqlite::connect(url, &options).await,
        _ => {
            let schemes = SCHEMES.concat();
            let schemes = schemes.trim_end_matches(" or ");
            Err(unusable_url(format!("the database URL must begin with {schemes}")))
        }
    }
}

/// Those whose features are on.
const SCHEMES: [&str; 3] = [
    if cfg!(feature = "postgres") { "postgres:// or " } else { "" },
    if cfg!(feature = "mysql") { "mysql:// or mariadb:// or " } else { "" },
    if cfg!(feature = "sqlite") { "sqlite:// or " } else { "" },
];

fn unusable_url(why: impl Into<String>) -> StoreError {
    StoreError::new(StoreErrorKind::InvalidArgument, CONNECT).with_source(Cause(why.into()))
}

/// Connects without the pool, which takes a refused connection for a server that is starting and
/// does not tell what was wrong.
#[cfg(any(feature = "mysql", feature = "postgres"))]
async fn try_once<C: Connection>(
    server: &<C as Connection>::Options,
    limit: Duration,
) -> Result<(), Error> {
    let attempt = async { C::connect_with(server).await?.close().await };
    tokio::time::timeout(limit, attempt).await.unwrap_or(Err(Error::PoolTimedOut))
}

/// A server at a place that did not answer within a time, or said no.
#[cfg(any(feature = "mysql", feature = "postgres"))]
fn unreachable(server: &str, limit: Duration, error: &Error) -> StoreError {
    let why = match error {
        Error::Io(error) => error.to_string(),
        Error::PoolTimedOut => format!("no answer within {limit:?}"),
        Error::Tls(_) => "no agreement on TLS".to_owned(),
        other => return refused(server, &from_sqlx(CONNECT, other)),
    };
    let cause = Cause(format!("{server} cannot be reached: {why}"));
    StoreError::new(StoreErrorKind::Unavailable, CONNECT).with_source(cause)
}

/// The server was reached and said no.
#[cfg(any(feature = "mysql", feature = "postgres"))]
fn refused(server: &str, error: &StoreError) -> StoreError {
    let why = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    let cause = Cause(format!("{server} refuses the connection: {why}"));
    StoreError::new(error.kind(), CONNECT).with_source(cause)
}

/// What [`StoreError`] names as the operation.
const CONNECT: &str = "connect";
