//! Figures about the backlog that an operator can trust.

use std::fmt;
use std::time::Duration;

/// A count that says how far it can be trusted.
///
/// Only `Exact(0)` reads as empty; an unavailable count is never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// At least so many; counting further was too dear.
    AtLeast(u64),
    /// From the database's own statistics.
    Estimated(u64),
    /// Exactly so many.
    Exact(u64),
    /// Not known.
    Unavailable,
}

impl Count {
    /// Whether there surely is none.
    pub fn is_empty(self) -> bool {
        self == Self::Exact(0)
    }

    /// Reads a count that stopped at `bound`.
    pub fn bounded(counted: u64, bound: u64) -> Self {
        if counted >= bound { Self::AtLeast(bound) } else { Self::Exact(counted) }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(n) => write!(f, "≥{n}"),
            Self::Estimated(n) => write!(f, "~{n}"),
            Self::Exact(n) => n.fmt(f),
            Self::Unavailable => f.write_str("unavailable"),
        }
    }
}

/// The state of an outbox at one instant of the database's clock.
///
/// `ready` counts records, in flight or not: a lease is a right to send and hides nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutboxStats {
    /// Records that are due.
    pub ready: Count,
    /// Age of the oldest due record, from when it became due.
    pub oldest_ready: Option<Duration>,
    /// Records that the application scheduled for later.
    pub scheduled: Count,
    /// Records that failed and wait for their next attempt.
    pub retrying: Count,
    /// Records that wait behind a dead head of their key.
    pub parked: Count,
    /// Dead letters.
    pub dead: Count,
}

impl OutboxStats {
    /// An outbox of which nothing is known.
    pub const UNAVAILABLE: Self = Self {
        ready: Count::Unavailable,
        oldest_ready: None,
        scheduled: Count::Unavailable,
        retrying: Count::Unavailable,
        parked: Count::Unavailable,
        dead: Count::Unavailable,
    };
}
