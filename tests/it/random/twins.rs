//! The reference and a database, to which the same things happen.

use std::time::Duration;

use chrono::{DateTime, Utc};
use outbox_core::{OutboxStore, WorkerId};
use outbox_testing::{CommitOrder, ManualClock, MemoryStore};

use super::calls::Call;
use super::compare::{Difference, answers, same};
use super::contents;
use super::database::Outbox;
use super::names::{Held, Names, Seen};
use super::operation::{Operation, WORKERS, WRITERS};
use super::writers::Writers;

/// Both sides, and what has been seen of them so far.
pub(super) struct Twins<'o> {
    pub(super) outbox: &'o Outbox,
    pub(super) clock: ManualClock,
    pub(super) reference: MemoryStore,
    pub(super) names: Names,
    pub(super) workers: Vec<WorkerId>,
    pub(super) writers: Vec<Option<Writers>>,
    pub(super) leases: Vec<Held>,
    pub(super) seen: Vec<Seen>,
    pub(super) calls: Vec<Call>,
    /// Stamps of the same settlements.
    pub(super) stamps: Vec<(u64, u64)>,
    pub(super) sights: Sights,
    pub(super) serial: u32,
}

/// What happened, so that runs are known to have been about something.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sights {
    pub(super) applied: usize,
    pub(super) cut: usize,
    pub(super) dead: usize,
    pub(super) lost: usize,
    pub(super) parked: usize,
    pub(super) read: usize,
    pub(super) refused: usize,
    pub(super) undecodable: usize,
    pub(super) withheld: usize,
}

impl Sights {
    pub(super) fn add(&mut self, mut of_one_run: Self) {
        for (all, one) in self.counts().into_iter().zip(of_one_run.counts()) {
            *all += *one;
        }
    }

    /// Whether each happened often in a full set of runs.
    pub(super) fn are_many(mut self) -> bool {
        self.counts().into_iter().all(|count| *count > 20)
    }

    fn counts(&mut self) -> [&mut usize; 9] {
        let Self { applied, cut, dead, lost, parked, read, refused, undecodable, withheld } = self;
        [applied, cut, dead, lost, parked, read, refused, undecodable, withheld]
    }
}

impl<'o> Twins<'o> {
    /// Both sides empty.
    pub(super) async fn new(outbox: &'o Outbox) -> Self {
        let clock = ManualClock::new();
        outbox.empty(clock.now()).await;
        let reference = MemoryStore::with_commit_order(&clock, outbox.commit_order());
        Self {
            outbox,
            clock,
            reference,
            names: Names::default(),
            workers: (0..WORKERS).map(|_| WorkerId::new()).collect(),
            writers: (0..WRITERS).map(|_| None).collect(),
            leases: Vec::new(),
            seen: Vec::new(),
            calls: Vec::new(),
            stamps: Vec::new(),
            sights: Sights::default(),
            serial: 0,
        }
    }

    /// Does one thing to both sides, and compares the answers.
    pub(super) async fn take(&mut self, operation: &Operation) -> Result<(), Difference> {
        if self.outbox.has_one_writer() && writes(operation) {
            self.end_writers().await;
        }
        self.perform(operation).await
    }

    /// Whether the tables of both sides hold the same.
    pub(super) async fn compare_contents(&mut self) -> Result<(), Difference> {
        let now = self.now();
        contents::compare(&self.reference, self.outbox, &mut self.names, now).await
    }

    /// The end of a run: no transaction stays open.
    pub(super) async fn end(mut self) -> Sights {
        for writers in self.writers.iter_mut().filter_map(Option::take) {
            writers.roll_back().await;
        }
        self.sights.dead += self.reference.dead_letters().len();
        self.sights.parked += self.reference.parked().len();
        self.sights
    }

    async fn perform(&mut self, operation: &Operation) -> Result<(), Difference> {
        match operation {
            Operation::Acquired { leases } => self.acquired(*leases).await,
            Operation::Advance { hours } => self.advance(self.outbox.step(*hours)).await,
            Operation::Begin { .. }
            | Operation::Commit { .. }
            | Operation::ReleaseSavepoint { .. }
            | Operation::RollBackToSavepoint { .. }
            | Operation::Rollback { .. }
            | Operation::Savepoint { .. }
            | Operation::Stage { .. } => self.write(operation).await,
            Operation::Damage { record } => self.damage(*record).await,
            Operation::Heartbeat { worker, wants_lanes } => {
                self.heartbeat(*worker, *wants_lanes).await
            }
            Operation::Lease { worker, lanes, hours, orphans } => {
                self.lease(*worker, *lanes, *hours, *orphans).await
            }
            Operation::Read { .. } => self.read(operation).await,
            Operation::Release { leases } => self.release(*leases).await,
            Operation::Renew { leases, hours } => self.renew(*leases, *hours).await,
            Operation::Repeat { call } => self.repeat(*call).await,
            Operation::Settle { outcomes } => self.settle(outcomes).await,
            Operation::Stats => self.stats().await,
        }
    }

    async fn advance(&mut self, by: Duration) -> Result<(), Difference> {
        self.clock.advance(by);
        self.outbox.set_clock(by, self.now()).await;
        Ok(())
    }

    async fn damage(&mut self, record: u8) -> Result<(), Difference> {
        let Some(seen) = latest(&self.seen, record) else { return Ok(()) };
        if self.reference.damage(seen.reference, "its headers are no JSON") {
            self.outbox.damage(seen.real).await;
        }
        Ok(())
    }

    async fn stats(&self) -> Result<(), Difference> {
        let real = self.outbox.store.stats().await;
        let Some((reference, mut real)) = answers(self.reference.stats().await, real)? else {
            return Ok(());
        };
        real.oldest_ready = real.oldest_ready.map(|age| self.outbox.time(age));
        same("stats", &reference, &real)
    }

    pub(super) fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }
}

/// One of the latest of them.
pub(super) fn latest<T: Copy>(all: &[T], number: u8) -> Option<T> {
    let latest = all.len().min(16);
    let back = usize::from(number).checked_rem(latest)?;
    all.iter().rev().nth(back).copied()
}

/// Whether a transaction of the application must not be open meanwhile, where only one can write.
fn writes(operation: &Operation) -> bool {
    !matches!(
        operation,
        Operation::Acquired { .. }
            | Operation::Begin { .. }
            | Operation::Commit { .. }
            | Operation::Read { .. }
            | Operation::ReleaseSavepoint { .. }
            | Operation::RollBackToSavepoint { .. }
            | Operation::Rollback { .. }
            | Operation::Savepoint { .. }
            | Operation::Stage { .. }
            | Operation::Stats
    )
}

impl Outbox {
    /// What the reference must know of open transactions to say what this database says.
    fn commit_order(&self) -> CommitOrder {
        if self.is_postgres() {
            CommitOrder::Numbered
        } else if self.is_mariadb() {
            CommitOrder::Unknown
        } else {
            CommitOrder::Ordered
        }
    }
}
