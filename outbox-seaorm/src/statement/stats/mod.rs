//! Counting what waits.
//!
//! A count stops after [`BOUND`] rows, so that it costs the same at any size of the backlog. A
//! statement that fails is an error and never a zero.

#[cfg(feature = "mysql")]
pub(crate) mod mysql;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;

use outbox_core::{Count, OutboxStats, StoreError};
use sea_orm::{DbErr, QueryResult};

use crate::mapping::{duration, failed};

/// Most rows of one table that are looked at.
const BOUND: i64 = 100_001;

/// Figures out of the one row of the statement.
///
/// Its columns: rows that never waited and how many of them were looked at; of those that waited
/// the due, scheduled and retrying ones and how many were looked at; parked; dead; age of the oldest
/// due record.
fn stats(row: &QueryResult) -> Result<OutboxStats, StoreError> {
    let read = || {
        let number = |at: usize| row.try_get_by_index::<i64>(at);
        let complete = number(1)? < BOUND && number(5)? < BOUND;
        let mut stats = OutboxStats::UNAVAILABLE;
        stats.ready = count(number(0)? + number(2)?, complete);
        stats.scheduled = count(number(3)?, number(5)? < BOUND);
        stats.retrying = count(number(4)?, number(5)? < BOUND);
        stats.parked = count(number(6)?, number(6)? < BOUND);
        stats.dead = count(number(7)?, number(7)? < BOUND);
        stats.oldest_ready = row.try_get_by_index::<Option<i64>>(8)?.map(duration);
        Ok(stats)
    };
    read().map_err(|error: DbErr| failed("stats")(error))
}

fn count(counted: i64, complete: bool) -> Count {
    let counted = u64::try_from(counted).unwrap_or_default();
    if complete { Count::Exact(counted) } else { Count::AtLeast(counted) }
}
