//! Telling the time to a store.

use std::fmt::Debug;

use chrono::{DateTime, Utc};

/// A clock that a store goes by instead of its database's.
///
/// For tests, and for a fixed instant: an instant is the clock that stands still at it. A store that
/// workers share must go by the one clock that they share too, which is the database's.
///
/// ```
/// use chrono::{DateTime, Utc};
/// use outbox_core::Clock;
///
/// let clock: DateTime<Utc> = DateTime::UNIX_EPOCH;
///
/// assert_eq!(Clock::now(&clock), DateTime::UNIX_EPOCH);
/// ```
pub trait Clock: Debug + Send + Sync {
    /// The time that it shows.
    fn now(&self) -> DateTime<Utc>;
}

impl Clock for DateTime<Utc> {
    fn now(&self) -> DateTime<Utc> {
        *self
    }
}
