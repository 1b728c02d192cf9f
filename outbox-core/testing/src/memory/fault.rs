//! Trouble that a test asks for.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use outbox_core::{StoreError, StoreErrorKind};
use tokio::sync::watch;

use super::MemoryStore;
use crate::gate::{Door, Gate, until};

/// A call of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is the method of the store with its name")]
pub enum StoreCall {
    Acquired,
    CompleteClaim,
    FailClaim,
    Heartbeat,
    Lease,
    MarkSuspect,
    Read,
    Release,
    Renew,
    RenewClaim,
    Settle,
    Stats,
    TryClaim,
}

impl StoreCall {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Acquired => "acquired",
            Self::CompleteClaim => "complete_claim",
            Self::FailClaim => "fail_claim",
            Self::Heartbeat => "heartbeat",
            Self::Lease => "lease",
            Self::MarkSuspect => "mark_suspect",
            Self::Read => "read",
            Self::Release => "release",
            Self::Renew => "renew",
            Self::RenewClaim => "renew_claim",
            Self::Settle => "settle",
            Self::Stats => "stats",
            Self::TryClaim => "try_claim",
        }
    }
}

/// Each planned fault is met by one call, in the order in which they were planned.
impl MemoryStore {
    /// The next such call fails and changes nothing.
    pub fn fail_next(&self, call: StoreCall, kind: StoreErrorKind) {
        self.shared.faults.plan(call, Plan::Fail(kind));
    }

    /// The next such call takes effect, but its answer is lost: the caller sees
    /// [`StoreErrorKind::Unavailable`].
    pub fn lose_next_answer(&self, call: StoreCall) {
        self.shared.faults.plan(call, Plan::LoseAnswer);
    }

    /// The next such call waits before it does anything.
    pub fn pause(&self, call: StoreCall) -> Gate {
        let gate = Gate::new();
        self.shared.faults.plan(call, Plan::Pause(gate.door()));
        gate
    }

    /// The next such call takes effect and then waits with its answer.
    pub fn pause_answer(&self, call: StoreCall) -> Gate {
        let gate = Gate::new();
        self.shared.faults.plan(call, Plan::PauseAnswer(gate.door()));
        gate
    }

    /// All calls fail and change nothing until [`MemoryStore::recover`].
    pub fn break_down(&self, kind: StoreErrorKind) {
        self.shared.faults.lock().down = Some(kind);
    }

    /// Ends a breakdown.
    pub fn recover(&self) {
        self.shared.faults.lock().down = None;
    }

    /// How many such calls were made.
    pub fn calls(&self, call: StoreCall) -> usize {
        counted(&self.shared.faults.calls.borrow(), call)
    }

    /// Returns once so many such calls were made.
    pub async fn called_at_least(&self, call: StoreCall, times: usize) {
        until(&self.shared.faults.calls, |calls| counted(calls, call) >= times).await;
    }
}

type Calls = HashMap<StoreCall, usize>;

fn counted(calls: &Calls, call: StoreCall) -> usize {
    calls.get(&call).copied().unwrap_or_default()
}

#[derive(Debug, Default)]
pub(super) struct Faults {
    planned: Mutex<Planned>,
    calls: watch::Sender<Calls>,
}

#[derive(Debug, Default)]
struct Planned {
    next: HashMap<StoreCall, VecDeque<Plan>>,
    down: Option<StoreErrorKind>,
}

impl Faults {
    /// Counts a call and takes what was planned for it.
    pub(super) fn arrive(&self, call: StoreCall) -> Plan {
        self.calls.send_modify(|calls| *calls.entry(call).or_default() += 1);
        self.lock().next.get_mut(&call).and_then(VecDeque::pop_front).unwrap_or(Plan::Nothing)
    }

    /// The error of a call that is not to take place.
    pub(super) fn refusal(&self, call: StoreCall, plan: &Plan) -> Result<(), StoreError> {
        let planned = if let Plan::Fail(kind) = plan { Some(*kind) } else { None };
        let refusal = planned.or(self.lock().down);
        refusal.map_or(Ok(()), |kind| Err(StoreError::new(kind, call.as_str())))
    }

    fn plan(&self, call: StoreCall, plan: Plan) {
        self.lock().next.entry(call).or_default().push_back(plan);
    }

    fn lock(&self) -> MutexGuard<'_, Planned> {
        self.planned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What happens to one call.
#[derive(Debug)]
pub(super) enum Plan {
    Fail(StoreErrorKind),
    LoseAnswer,
    Nothing,
    Pause(Arc<Door>),
    PauseAnswer(Arc<Door>),
}

impl Plan {
    pub(super) async fn before(&self) {
        if let Self::Pause(door) = self {
            door.pass().await;
        }
    }

    pub(super) async fn after(&self) -> Result<(), StoreError> {
        match self {
            Self::LoseAnswer => {
                Err(StoreError::new(StoreErrorKind::Unavailable, "the answer was lost"))
            }
            Self::PauseAnswer(door) => {
                door.pass().await;
                Ok(())
            }
            Self::Fail(_) | Self::Nothing | Self::Pause(_) => Ok(()),
        }
    }
}
