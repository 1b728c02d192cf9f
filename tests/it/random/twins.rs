//! The reference and a database, to which the same things happen.

use std::time::Duration;

use chrono::{DateTime, Utc};
use outbox_core::{OutboxStore, WorkerId};
use outbox_testing::{CommitOrder, ManualClock, MemoryStore};

use super::calls::Call;
use super::claims::Claimed;
use super::compare::{Difference, answers, same};
use super::contents;
use super::database::Outbox;
use super::names::{Held, Names, Seen};
use super::operation::{Operation, WORKERS, WRITERS};
use super::sights::{Claiming, Sight, Sights};
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
    pub(super) claims: Vec<Claimed>,
    pub(super) calls: Vec<Call>,
    /// Stamps of the same settlements.
    pub(super) stamps: Vec<(u64, u64)>,
    pub(super) sights: Sights,
    pub(super) serial: u32,
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
            claims: Vec::new(),
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

    /// Whether no claim is left, as when all are over and their lanes were acquired.
    pub(super) fn nothing_is_claimed(&self) -> Result<(), Difference> {
        same("claims that are left", &Vec::new(), &self.reference.claims())
    }

    /// The end of a run: no transaction stays open.
    pub(super) async fn end(mut self) -> Sights {
        for writers in self.writers.iter_mut().filter_map(Option::take) {
            writers.roll_back().await;
        }
        self.sights.note(Sight::Dead, !self.reference.dead_letters().is_empty());
        self.sights.note(Sight::Parked, !self.reference.parked().is_empty());
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
            Operation::CompleteClaim { .. }
            | Operation::FailClaim { .. }
            | Operation::RenewClaim { .. }
            | Operation::TryClaim { .. } => self.claim(operation).await,
            Operation::Damage { record } => self.damage(*record).await,
            Operation::Heartbeat { .. } => self.heartbeat(operation).await,
            Operation::Lease { .. } => self.lease(operation).await,
            Operation::Read { .. } => self.read(operation).await,
            Operation::Release { leases } => self.release(*leases).await,
            Operation::Renew { leases, hours } => self.renew(*leases, *hours).await,
            Operation::Repeat { call } => self.repeat(*call).await,
            Operation::Settle { outcomes } => self.settle(outcomes).await,
            Operation::Stats => self.stats().await,
        }
    }

    async fn advance(&mut self, by: Duration) -> Result<(), Difference> {
        let before = self.now();
        self.clock.advance(by);
        let claims = self.reference.claims();
        let ran_out =
            claims.iter().any(|claim| claim.expires_at > before && claim.expires_at <= self.now());
        self.sights.note(Sight::Claim(Claiming::RanOut), ran_out);
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
