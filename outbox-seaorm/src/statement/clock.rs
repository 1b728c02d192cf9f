//! Instants and durations in SQL.

use std::time::Duration;

/// SQLite's own clock in microseconds, of which it counts milliseconds.
///
/// It stands still within one statement.
pub(crate) const SQLITE_NOW: &str = "(CAST(strftime('%s', 'now') AS INTEGER) * 1000000 \
    + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000)";

/// A thousand years: what lies beyond is meant as for ever, and every database can add it to now.
const LONGEST: i64 = 1000 * 366 * 24 * 3600 * 1_000_000;

/// Whole microseconds, cut at a thousand years.
pub(crate) fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(LONGEST).min(LONGEST)
}
