//! What happened in a run, in order.

use std::fmt;
use std::time::Duration;

use outbox_core::{DeadReason, FailureKind, Lane, OutcomeKind};
use outbox_worker::Drained;

use super::fault::{Fault, Halt};

macro_rules! number {
    ($(#[$doc:meta])* $name:ident, $word:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(super) struct $name(pub(super) usize);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($word, "{}"), self.0)
            }
        }
    };
}

number!(
    /// A call of the publisher.
    Call,
    "call "
);
number!(
    /// One lease of one lane: the number of its token.
    Epoch,
    "lease "
);
number!(
    /// An event, by its number in the plan.
    Event,
    "event "
);
number!(
    /// One process. Number 0 is whoever claims single records.
    Worker,
    "worker "
);

/// One line of the journal.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Time since the start of the run.
    pub(super) at: Duration,
    /// Time since then by the database's clock.
    pub(super) database: Duration,
    pub(super) fact: Fact,
}

/// What happened.
#[derive(Clone, Debug)]
pub(super) enum Fact {
    Answered {
        event: Event,
        call: Call,
        answer: Answer,
    },
    /// Claimed until this time of the database's clock.
    Claimed {
        event: Event,
        until: Duration,
    },
    ClaimOver {
        event: Event,
    },
    Committed(Event),
    Drained(Worker, Drained),
    DrainBegan(Worker),
    Halted(Worker, Halt),
    Leased {
        worker: Worker,
        leases: Vec<(Lane, Epoch)>,
    },
    Met(Fault, Option<Worker>),
    Released {
        worker: Worker,
        leases: Vec<(Lane, Epoch)>,
    },
    RolledBack(Event),
    Sent(Send),
    Settled {
        event: Event,
        epoch: Epoch,
        outcome: Written,
        effect: Effect,
    },
    Staged(Event),
    Started(Worker),
    Taken(Send),
    Thawed(Worker),
}

/// One message in one call of the publisher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Send {
    pub(super) event: Event,
    pub(super) call: Call,
    pub(super) worker: Worker,
    pub(super) lane: Lane,
    /// The lease under which it is sent.
    pub(super) epoch: Epoch,
    /// It begins at the instant in which the worker is told of the lease: its loop may not know of it
    /// yet, and send under the one before.
    pub(super) is_fresh: bool,
}

/// How a send ended for the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The worker knows that the broker has it.
    Accepted,
    Failed(FailureKind),
    /// The broker has it and the worker was told that this is not known.
    Lost,
    Panicked,
    TimedOut,
}

impl Answer {
    /// Whether it counts as an attempt that failed.
    pub(super) const fn is_counted(self) -> bool {
        match self {
            Self::Failed(kind) => matches!(
                kind,
                FailureKind::Ambiguous | FailureKind::Message | FailureKind::Transient
            ),
            Self::Lost | Self::Panicked | Self::TimedOut => true,
            Self::Accepted => false,
        }
    }
}

/// An outcome without its texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    Dead(DeadReason),
    Failed,
    Parked,
    Published,
}

impl From<&OutcomeKind> for Written {
    fn from(kind: &OutcomeKind) -> Self {
        match kind {
            OutcomeKind::Dead { reason, .. } => Self::Dead(*reason),
            OutcomeKind::Failed { .. } => Self::Failed,
            OutcomeKind::Parked => Self::Parked,
            OutcomeKind::Published => Self::Published,
        }
    }
}

/// What a settlement did to one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Applied,
    /// A fault kept the statement from the database.
    Missed,
    /// The lease was not held any more.
    Refused,
    /// The record was gone or had changed.
    Unchanged,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, database) = (self.at.as_secs_f64(), self.database.as_secs_f64());
        write!(f, "{at:8.3} s (database {database:8.3})  {}", self.fact)
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answered { event, call, answer } => {
                write!(f, "{event}: {call} answered {answer:?}")
            }
            Self::ClaimOver { event } => write!(f, "{event}: claim is over"),
            Self::Claimed { event, until } => write!(f, "{event}: claimed until {until:?}"),
            Self::Committed(event) => write!(f, "{event}: committed"),
            Self::DrainBegan(worker) => write!(f, "{worker}: told to stop"),
            Self::Drained(worker, drained) => write!(f, "{worker}: {drained:?}"),
            Self::Halted(worker, halt) => write!(f, "{worker}: {halt:?}"),
            Self::Leased { worker, leases } => {
                write!(f, "{worker}: leased ")?;
                write_leases(f, leases)
            }
            Self::Met(fault, Some(worker)) => write!(f, "{worker}: FAULT {fault:?}"),
            Self::Met(fault, None) => write!(f, "FAULT {fault:?}"),
            Self::Released { worker, leases } => {
                write!(f, "{worker}: gave back ")?;
                write_leases(f, leases)
            }
            Self::RolledBack(event) => write!(f, "{event}: rolled back"),
            Self::Sent(send) => write!(f, "{send} begins"),
            Self::Settled { event, epoch, outcome, effect } => {
                write!(f, "{event}: {outcome:?} under {epoch}: {effect:?}")
            }
            Self::Staged(event) => write!(f, "{event}: staged"),
            Self::Started(worker) => write!(f, "{worker}: started"),
            Self::Taken(send) => write!(f, "{send} TAKEN by the broker"),
            Self::Thawed(worker) => write!(f, "{worker}: goes on"),
        }
    }
}

impl fmt::Display for Send {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { event, call, worker, lane, epoch, .. } = self;
        write!(f, "{event}: {call} of {worker} under {epoch} of lane {lane}")
    }
}

fn write_leases(f: &mut fmt::Formatter<'_>, leases: &[(Lane, Epoch)]) -> fmt::Result {
    for (lane, epoch) in leases {
        write!(f, "{lane}:{} ", epoch.0)?;
    }
    Ok(())
}
