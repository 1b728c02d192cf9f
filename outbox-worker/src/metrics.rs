//! What a dispatcher tells of its work.

use std::fmt::Debug;
use std::time::Duration;

use outbox_core::{DeadReason, FailureKind, OutboxStats};

/// Hears of everything that a dispatcher counts and measures.
///
/// The library exports nothing by itself: an implementation passes on what it hears to whatever the
/// application has. It is called from the dispatcher's loop, so it must return at once.
/// A panic of it is logged once and stops no sending.
pub trait OutboxMetrics: Debug + Send + Sync {
    /// Takes one measurement.
    fn measure(&self, measurement: &Measurement<'_>);
}

/// Something that was counted or measured.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Measurement<'a> {
    /// The broker took a message.
    Accepted {
        /// Its topic.
        topic: &'a str,
        /// Time since it happened, or since it was due if that is later. It has the application's
        /// clock at one end and this machine's at the other.
        lag: Duration,
    },
    /// A breaker changed.
    Breaker {
        /// Whose breaker; `None` is that of the credentials, which stops everything.
        topic: Option<&'a str>,
        /// Transport to the topic, if its records name one.
        transport: Option<&'a str>,
        /// What it is now.
        state: BreakerState,
    },
    /// A call of the publisher ended, in whatever way.
    Called {
        /// The topic.
        topic: &'a str,
        /// How many messages it carried.
        messages: usize,
        /// How long it took.
        took: Duration,
    },
    /// A record became a dead letter.
    Dead {
        /// Why.
        reason: DeadReason,
    },
    /// A message was not taken by the broker, or its answer was lost.
    Failed {
        /// Its topic.
        topic: &'a str,
        /// Who is at fault.
        kind: FailureKind,
    },
    /// What is in memory and in hand, told at each round of renewals.
    Holding {
        /// Lanes under lease.
        lanes: usize,
        /// Records in memory, queued and in flight.
        records: usize,
        /// Bytes of them.
        bytes: usize,
        /// Calls of the publisher in flight.
        calls: usize,
    },
    /// Another worker took over a lane of which records were held.
    LaneLost,
    /// An outcome could not be written in time: its record is sent again.
    OutcomeLost,
    /// A record was parked behind a dead one of its key.
    Parked,
    /// The settlement of an accepted record is written.
    Published,
    /// A read ended.
    Read {
        /// Records that it brought.
        records: usize,
        /// How long it took.
        took: Duration,
    },
    /// A settlement ended.
    Settled {
        /// How many outcomes it carried.
        outcomes: usize,
        /// How long it took.
        took: Duration,
    },
    /// The figures of the whole outbox; counted every `stats_interval` if somebody listens.
    Stats(&'a OutboxStats),
    /// The store began to fail, or works again.
    Store {
        /// What was asked of it: `lease`, `mark`, `read` or `settle`.
        phase: &'static str,
        /// Whether it works.
        works: bool,
    },
}

/// What a breaker lets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BreakerState {
    /// Everything.
    Closed,
    /// One record, which tells whether the destination has recovered.
    HalfOpen,
    /// Nothing.
    Open,
}

impl BreakerState {
    /// The word used in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::HalfOpen => "half_open",
            Self::Open => "open",
        }
    }
}
