//! Durations and instants as databases hold them.

use std::time::Duration;

/// A hundred years: what lies beyond is meant as for ever, and every database can add it to now.
const LONGEST: i64 = 100 * 366 * 24 * 3600 * 1_000_000;

/// Whole microseconds, cut at a hundred years.
pub(crate) fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(LONGEST).min(LONGEST)
}

/// A duration out of microseconds; a negative one, from a clock that was set back, is none.
pub(crate) fn duration(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or_default())
}
