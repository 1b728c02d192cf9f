//! Durations as databases tell them.

use std::time::Duration;

/// A duration out of microseconds; a negative one, from a clock that was set back, is none.
pub(crate) fn duration(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or_default())
}
