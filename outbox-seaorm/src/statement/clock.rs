//! Instants and durations in SQL.

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
use std::borrow::Cow;
use std::time::Duration;

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
use chrono::{DateTime, Utc};

/// What stands for the present in statements.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
#[derive(Clone, Copy, Debug)]
pub(crate) enum Now {
    /// The database's clock.
    Database,
    /// This instant, to the microsecond.
    At(DateTime<Utc>),
}

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
impl Now {
    /// For MariaDB and MySQL.
    #[cfg(feature = "mysql")]
    pub(crate) fn mysql(self) -> Cow<'static, str> {
        match self {
            Self::Database => "UTC_TIMESTAMP(6)".into(),
            Self::At(instant) => {
                format!("TIMESTAMP'{}'", instant.format("%Y-%m-%d %H:%M:%S%.6f")).into()
            }
        }
    }

    /// For PostgreSQL. The database's clock goes on while a statement waits.
    #[cfg(feature = "postgres")]
    pub(crate) fn postgres(self) -> Cow<'static, str> {
        match self {
            Self::Database => "clock_timestamp()".into(),
            Self::At(instant) => {
                format!("'{}+00'::timestamptz", instant.format("%Y-%m-%d %H:%M:%S%.6f")).into()
            }
        }
    }

    /// For PostgreSQL, standing still within a statement, so that an index can be searched by it.
    #[cfg(feature = "postgres")]
    pub(crate) fn postgres_still(self) -> Cow<'static, str> {
        match self {
            Self::Database => "statement_timestamp()".into(),
            Self::At(_) => self.postgres(),
        }
    }

    /// For SQLite.
    #[cfg(feature = "sqlite")]
    pub(crate) fn sqlite(self) -> Cow<'static, str> {
        match self {
            Self::Database => SQLITE_NOW.into(),
            Self::At(instant) => instant.timestamp_micros().to_string().into(),
        }
    }
}

/// SQLite's own clock in microseconds, of which it counts milliseconds.
///
/// It stands still within one statement.
pub(crate) const SQLITE_NOW: &str = "(CAST(strftime('%s', 'now') AS INTEGER) * 1000000 \
    + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000)";

/// A thousand years: what lies beyond is meant as for ever, and every database can add it to now.
pub(crate) const LONGEST: i64 = 1000 * 366 * 24 * 3600 * 1_000_000;

/// Whole microseconds, cut at a thousand years.
pub(crate) fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(LONGEST).min(LONGEST)
}
