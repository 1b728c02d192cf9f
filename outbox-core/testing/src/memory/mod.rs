//! An outbox in memory: the readable twin of the databases.

mod claim;
mod fault;
mod inspect;
mod lease;
mod losses;
mod read;
mod settle;
mod state;
mod stats;
mod store;
mod transaction;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use outbox_core::{OutboxMessage, RecordRef, Schedule, StagedMessage};
use tokio::sync::watch;

use crate::clock::{ManualClock, StoreClock};
use fault::Faults;
use state::{Draft, State};

pub use fault::StoreCall;
pub use inspect::{DeadLetter, HeldLane, HeldRecord};
pub use state::CommitOrder;
pub use transaction::{MemorySavepoint, MemoryTransaction};

/// An outbox in memory, for tests of a dispatcher and as the reference of the contract.
///
/// Clones share the outbox. Its time comes from a [`ManualClock`], so that leases expire and
/// records become due when the test says so. It can fail, lose an answer or hold a call back on
/// request, and it shows what it holds. Nothing survives the process.
#[derive(Clone)]
pub struct MemoryStore {
    shared: Arc<Shared>,
}

struct Shared {
    clock: StoreClock,
    state: Mutex<State>,
    faults: Faults,
    /// Moves whenever the state may have changed.
    changes: watch::Sender<u64>,
}

impl MemoryStore {
    /// An empty outbox that goes by this clock and commits in order.
    pub fn new(clock: &ManualClock) -> Self {
        Self::with_commit_order(clock, CommitOrder::Ordered)
    }

    /// An empty outbox that goes by this clock and says this of open transactions.
    pub fn with_commit_order(clock: &ManualClock, commits: CommitOrder) -> Self {
        Self::build(StoreClock::Manual(clock.clone()), commits)
    }

    /// An empty outbox that goes by the machine's clock and commits in order.
    pub fn with_system_clock() -> Self {
        Self::build(StoreClock::System, CommitOrder::Ordered)
    }

    fn build(clock: StoreClock, commits: CommitOrder) -> Self {
        let shared = Shared {
            clock,
            state: Mutex::new(State::new(commits)),
            faults: Faults::default(),
            changes: watch::Sender::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Commits a message that is due at once.
    pub fn stage(&self, message: OutboxMessage) -> RecordRef {
        self.stage_for(message, Schedule::Now)
    }

    /// Commits a message that is due by this schedule.
    pub fn stage_for(&self, message: OutboxMessage, schedule: Schedule) -> RecordRef {
        let draft = Draft::new(StagedMessage { message, schedule }, self.now());
        self.change(|state| {
            state.number_for_insert(None);
            state.insert(draft)
        })
    }

    /// Opens a transaction whose messages appear when it commits.
    pub fn begin(&self) -> MemoryTransaction {
        MemoryTransaction::new(self.clone())
    }

    fn now(&self) -> DateTime<Utc> {
        self.shared.clock.now()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one step on the state and tells those who wait for a change.
    fn change<T>(&self, step: impl FnOnce(&mut State) -> T) -> T {
        let result = step(&mut self.state());
        self.shared.changes.send_modify(|changes| *changes += 1);
        result
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("clock", &self.shared.clock).finish_non_exhaustive()
    }
}
