//! What became of a record.

use std::fmt;
use std::time::Duration;

use crate::failure::Failure;
use crate::id::LeaseToken;
use crate::lane::Lane;
use crate::record::RecordRef;

/// Why a record will not be tried again by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeadReason {
    /// The configured number of attempts failed.
    AttemptsExhausted,
    /// It failed for longer than the configured age.
    Expired,
    /// The broker will never take this message.
    Rejected,
    /// The stored row cannot be decoded.
    Undecodable,
    /// Worker after worker died while it sent this record and nothing else.
    WorkerLost,
}

impl DeadReason {
    /// The stored word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AttemptsExhausted => "attempts_exhausted",
            Self::Expired => "expired",
            Self::Rejected => "rejected",
            Self::Undecodable => "undecodable",
            Self::WorkerLost => "worker_lost",
        }
    }
}

impl fmt::Display for DeadReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How one attempt ended.
#[derive(Clone, Debug)]
pub enum OutcomeKind {
    /// It will not be retried; it leaves the hot table with its reason.
    Dead {
        /// Why.
        reason: DeadReason,
        /// Summary for the operator.
        error: String,
        /// Whether later records of its key are parked behind it.
        parks_key: bool,
    },
    /// It failed and is due again after a delay, counted from the database's clock.
    Failed {
        /// What went wrong.
        failure: Failure,
        /// How long until it is due.
        delay: Duration,
    },
    /// Its key is parked: it leaves the hot table until an operator frees the key.
    Parked,
    /// The broker took it.
    Published,
}

/// How one attempt ended, with the claim that proves the right to say so.
///
/// Record, token and revision together are unique for one attempt, so that a repeated failure, a
/// late success of an earlier attempt and a lease that was lost change nothing.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Which record.
    pub record: RecordRef,
    /// Token of the lease under which it was sent.
    pub token: LeaseToken,
    /// Revision under which it was read.
    pub revision: i32,
    /// How it ended.
    pub kind: OutcomeKind,
}

/// A lane whose lease was no longer held: none of its outcomes took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LostLane {
    /// The lane.
    pub lane: Lane,
    /// The token that is no longer current.
    pub token: LeaseToken,
}

/// What a settlement did.
#[derive(Clone, Debug, Default)]
pub struct Settled {
    /// Records whose outcome took effect. Others had been settled before or belong to a lost lane.
    pub applied: Vec<RecordRef>,
    /// Lanes whose lease was no longer held.
    pub lost: Vec<LostLane>,
    /// Number of the transaction that settled, where the store numbers them: transactions that
    /// began to write before it have lower numbers.
    pub stamp: Option<u64>,
}
