//! Clocks that a test moves.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, SubsecRound, TimeDelta, Utc};
use outbox_core::Clock;

/// 2026-01-01 00:00 UTC.
const START: DateTime<Utc> = match DateTime::from_timestamp(1_767_225_600, 0) {
    Some(start) => start,
    None => DateTime::UNIX_EPOCH,
};

/// A clock that stands still until it is moved.
///
/// Clones show the same time. It starts at 2026-01-01 00:00 UTC.
#[derive(Clone, Debug)]
pub struct ManualClock {
    now: Arc<Mutex<DateTime<Utc>>>,
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::at(START)
    }
}

impl ManualClock {
    /// A clock at the fixed start.
    pub fn new() -> Self {
        Self::default()
    }

    /// A clock at this instant.
    pub fn at(instant: DateTime<Utc>) -> Self {
        Self { now: Arc::new(Mutex::new(instant)) }
    }

    /// Moves all clones on by this long.
    pub fn advance(&self, by: Duration) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        *now = later(*now, by);
    }

    /// The time that it shows.
    pub fn now(&self) -> DateTime<Utc> {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> DateTime<Utc> {
        Self::now(self)
    }
}

/// Where a store in memory takes its time from.
#[derive(Clone, Debug)]
pub(crate) enum StoreClock {
    Manual(ManualClock),
    System,
}

impl StoreClock {
    /// The time, with microseconds as a database keeps it.
    pub(crate) fn now(&self) -> DateTime<Utc> {
        match self {
            Self::Manual(clock) => clock.now(),
            Self::System => Utc::now(),
        }
        .trunc_subsecs(6)
    }
}

/// The instant so long after another, at most the last one that there is.
pub(crate) fn later(instant: DateTime<Utc>, by: Duration) -> DateTime<Utc> {
    TimeDelta::from_std(by)
        .ok()
        .and_then(|by| instant.checked_add_signed(by))
        .unwrap_or(DateTime::<Utc>::MAX_UTC)
}

/// How long it is from one instant to another, zero if it lies before.
pub(crate) fn between(from: DateTime<Utc>, to: DateTime<Utc>) -> Duration {
    (to - from).to_std().unwrap_or_default()
}
