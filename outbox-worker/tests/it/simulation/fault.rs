//! What can go wrong in a run.

use std::time::Duration;

use outbox_core::FailureKind;
use outbox_testing::StoreCall;

/// A kind of fault. Each must occur somewhere in a full set of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Fault {
    /// The broker takes the messages and its answer is lost.
    AnswerLost,
    /// The broker does not answer within the publish timeout; it may have taken the messages.
    BrokerHangs,
    /// Another holds a record by a claim of its own when its lane is leased.
    ClaimHeld,
    /// The clock of the database steps forward.
    ClockForward,
    /// A worker is told to stop while its send hangs for longer than the drain waits.
    DrainDuringSend,
    /// The publisher panics, before or after the broker took the messages.
    PublisherPanics,
    /// The broker answers with this failure, for a topic and for a while.
    Refused(FailureKind),
    /// Settlements fail for longer than a lease, and nothing else does.
    SettleImpossible,
    /// A statement takes effect long after its caller gave it up.
    StatementLate,
    /// A call of the store takes effect and its answer is lost.
    StoreAnswerLost,
    /// A call of the store fails and changes nothing.
    StoreCallFails,
    /// A call of the store does not answer in time; it may have taken effect.
    StoreCallHangs,
    /// A call of the store panics; it may have taken effect.
    StoreCallPanics,
    /// Every call of the store fails for a while.
    StoreDown,
    /// A stored row cannot be decoded.
    Undecodable,
    /// A worker is told to stop and is started anew, as in a rolling restart.
    WorkerDrained,
    /// A worker stands still for longer than its lease, as after SIGSTOP, and goes on.
    WorkerFrozen,
    /// A worker ends as after SIGKILL and is started anew.
    WorkerKilled,
}

impl Fault {
    /// All of them.
    pub(super) const ALL: [Self; 23] = [
        Self::AnswerLost,
        Self::BrokerHangs,
        Self::ClaimHeld,
        Self::ClockForward,
        Self::DrainDuringSend,
        Self::PublisherPanics,
        Self::Refused(FailureKind::Ambiguous),
        Self::Refused(FailureKind::Credentials),
        Self::Refused(FailureKind::Destination),
        Self::Refused(FailureKind::Message),
        Self::Refused(FailureKind::Throttled),
        Self::Refused(FailureKind::Transient),
        Self::SettleImpossible,
        Self::StatementLate,
        Self::StoreAnswerLost,
        Self::StoreCallFails,
        Self::StoreCallHangs,
        Self::StoreCallPanics,
        Self::StoreDown,
        Self::Undecodable,
        Self::WorkerDrained,
        Self::WorkerFrozen,
        Self::WorkerKilled,
    ];

    /// Whether calls of the store meet it.
    pub(super) const fn is_of_store(self) -> bool {
        matches!(
            self,
            Self::SettleImpossible
                | Self::StatementLate
                | Self::StoreAnswerLost
                | Self::StoreCallFails
                | Self::StoreCallHangs
                | Self::StoreCallPanics
                | Self::StoreDown
        )
    }

    /// Whether calls of the publisher meet it.
    pub(super) const fn is_of_broker(self) -> bool {
        matches!(
            self,
            Self::AnswerLost
                | Self::BrokerHangs
                | Self::DrainDuringSend
                | Self::PublisherPanics
                | Self::Refused(_)
        )
    }
}

/// A fault with its time and place, as a seed draws it.
#[derive(Clone, Debug)]
pub(super) struct Trouble {
    pub(super) fault: Fault,
    /// Until when calls meet it.
    pub(super) until: Duration,
    /// The worker that meets it, by its slot; `None` for all.
    pub(super) slot: Option<usize>,
    /// The topic that meets it; `None` for all.
    pub(super) topic: Option<&'static str>,
    /// The call of the store that meets it; `None` for all.
    pub(super) call: Option<StoreCall>,
    /// How many calls meet it at most.
    pub(super) times: u32,
}

/// What stops a worker in the middle of what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// It is not run for so long.
    Freeze(Duration),
    /// It is gone.
    Kill,
}

/// Where in its work a worker is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Before or after a call of the store takes effect.
    Store,
    /// Before the broker takes messages.
    Send,
    /// After the broker took messages and before it answers.
    Taken,
}

/// A halt that waits for its worker to pass a place for the n-th time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trap {
    pub(super) halt: Halt,
    pub(super) place: Place,
    pub(super) passes: u32,
}
