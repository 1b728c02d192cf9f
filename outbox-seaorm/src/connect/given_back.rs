//! Connections that must not be lent again.

use std::io::ErrorKind;
use std::time::Duration;

use sea_orm::sqlx::{Connection, Database, Error, Pool};
use sea_orm::{DatabaseConnection, DatabaseConnectionType};

/// Longer than an answer takes, and much shorter than a lease lasts: until it is over, nobody else
/// can have a connection in this one's place.
const ANSWER: Duration = Duration::from_secs(2);

/// Whether a connection that is given back may be lent again.
///
/// A caller that gave up waiting leaves an answer behind that may never come, where the connection
/// is half gone. The pool would wait for it without a limit, and so lose the connection's place.
pub(super) async fn answers<C: Connection>(connection: &mut C) -> Result<bool, Error> {
    match tokio::time::timeout(ANSWER, connection.ping()).await {
        Ok(answer) => Ok(answer.is_ok()),
        // An error closes the connection without a farewell, which might wait as long.
        Err(_) => Err(Error::Io(ErrorKind::TimedOut.into())),
    }
}

/// Closes the connections that nobody uses just now: others take their place.
pub(crate) fn close_idle(db: &DatabaseConnection) {
    match &db.inner {
        #[cfg(feature = "mysql")]
        DatabaseConnectionType::SqlxMySqlPoolConnection(_) => {
            close_idle_of(db.get_mysql_connection_pool());
        }
        #[cfg(feature = "postgres")]
        DatabaseConnectionType::SqlxPostgresPoolConnection(_) => {
            close_idle_of(db.get_postgres_connection_pool());
        }
        _ => {}
    }
}

fn close_idle_of<D: Database>(pool: &Pool<D>) {
    while let Some(mut connection) = pool.try_acquire() {
        connection.close_on_drop();
    }
}
