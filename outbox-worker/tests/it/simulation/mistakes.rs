//! Mistakes of a store that the runs must find.

use std::sync::Arc;

use async_trait::async_trait;
use outbox_core::{
    Batch, Fleet, LaneLease, LaneState, LeaseRequest, LeaseTime, OutboxRecord, OutboxStats,
    OutboxStore, Outcome, OutcomeKind, ReadMark, ReadRequest, RecordRef, Settled, StoreError,
    WorkerCard,
};
use outbox_testing::MemoryStore;

use super::run::run;

/// Seeds within which each mistake must be found.
const BOUND: u64 = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    /// A failure counts whether or not its record changed since the attempt began.
    CountTwice,
    /// Reads say that nothing can appear behind them.
    CursorWithoutFloor,
    /// A lane is leased although its lease is live.
    ExpiryIgnored,
    /// A success is said to be written and is not.
    ForgottenSuccess,
    /// A settlement does not ask who holds the lane.
    NoFence,
    /// A dead head leaves its key alone.
    NoPark,
    /// A lease is renewed whoever holds the lane by now.
    RenewalForAll,
}

#[test]
fn a_failure_that_counts_twice_is_found() {
    find(Mistake::CountTwice, "counts");
}

#[test]
fn a_read_that_forgets_late_commits_is_found() {
    find(Mistake::CursorWithoutFloor, "is still to be sent");
}

#[test]
fn a_lease_that_is_given_twice_is_found() {
    find(Mistake::ExpiryIgnored, "was leased under a live lease");
}

#[test]
fn a_success_that_is_not_written_is_found() {
    find(Mistake::ForgottenSuccess, "was sent again for no reason");
}

#[test]
fn a_settlement_without_fence_is_found() {
    find(Mistake::NoFence, "which was over");
}

#[test]
fn a_dead_head_that_parks_nothing_is_found() {
    find(Mistake::NoPark, "was sent behind");
}

#[test]
fn a_renewal_of_a_lost_lease_is_found() {
    find(Mistake::RenewalForAll, "began under a lease that was over");
}

/// Runs seeds until one shows the mistake by this violation.
fn find(mistake: Mistake, violation: &str) {
    let shows = |seed: &u64| {
        let verdict = run(*seed, |store| Arc::new(Mistaken { store, mistake }));
        verdict.violations.iter().any(|violated| violated.contains(violation))
    };
    let found = (0..BOUND).find(shows);
    assert!(found.is_some(), "{mistake:?} was not found in {BOUND} seeds");
    println!("{mistake:?} is found by seed {found:?}");
}

/// The store in memory with one mistake.
#[derive(Debug)]
struct Mistaken {
    store: MemoryStore,
    mistake: Mistake,
}

impl Mistaken {
    fn makes(&self, mistake: Mistake) -> bool {
        self.mistake == mistake
    }

    /// The outcome as a store with the mistake takes it.
    fn mistake(&self, mut outcome: Outcome, rows: &[OutboxRecord]) -> Outcome {
        let lane = outcome.record.lane;
        let row = rows.iter().find(|row| row.reference == outcome.record);
        match (self.mistake, &mut outcome.kind) {
            (Mistake::CountTwice, OutcomeKind::Failed { .. }) => {
                outcome.revision = row.map_or(outcome.revision, |row| row.revision);
            }
            (Mistake::NoFence, _) => {
                let held = self.store.lanes().into_iter().find(|held| held.lease.lane == lane);
                outcome.token = held.map_or(outcome.token, |held| held.lease.token);
            }
            (Mistake::NoPark, OutcomeKind::Dead { parks_key, .. }) => *parks_key = false,
            _ => {}
        }
        outcome
    }
}

#[async_trait]
impl OutboxStore for Mistaken {
    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LaneLease>, StoreError> {
        if self.makes(Mistake::ExpiryIgnored) {
            let live: Vec<LaneLease> = self.store.lanes().iter().map(|held| held.lease).collect();
            self.store.release(live.get(..1).unwrap_or_default()).await?;
        }
        self.store.lease(request).await
    }

    async fn renew(
        &self,
        leases: &[LaneLease],
        lease: LeaseTime,
    ) -> Result<Vec<LaneLease>, StoreError> {
        let renewed = self.store.renew(leases, lease).await?;
        Ok(if self.makes(Mistake::RenewalForAll) { leases.to_vec() } else { renewed })
    }

    async fn release(&self, leases: &[LaneLease]) -> Result<(), StoreError> {
        self.store.release(leases).await
    }

    async fn acquired(&self, leases: &[LaneLease]) -> Result<Vec<LaneState>, StoreError> {
        self.store.acquired(leases).await
    }

    async fn mark_suspect(
        &self,
        lease: &LaneLease,
        record: Option<RecordRef>,
    ) -> Result<bool, StoreError> {
        self.store.mark_suspect(lease, record).await
    }

    async fn read(&self, request: &ReadRequest) -> Result<Batch, StoreError> {
        let mut batch = self.store.read(request).await?;
        if self.makes(Mistake::CursorWithoutFloor) {
            batch.mark = ReadMark::Ordered;
        }
        Ok(batch)
    }

    async fn settle(&self, outcomes: &[Outcome]) -> Result<Settled, StoreError> {
        let rows = self.store.pending();
        let forgotten = |outcome: &Outcome| {
            let success = matches!(outcome.kind, OutcomeKind::Published);
            self.makes(Mistake::ForgottenSuccess) && success && outcome.record.position.0 % 5 == 0
        };
        let (forgotten, taken): (Vec<_>, Vec<_>) = outcomes.iter().cloned().partition(forgotten);
        let taken: Vec<Outcome> =
            taken.into_iter().map(|outcome| self.mistake(outcome, &rows)).collect();
        let mut settled = self.store.settle(&taken).await?;
        settled.applied.extend(forgotten.iter().map(|outcome| outcome.record));
        Ok(settled)
    }

    async fn stats(&self) -> Result<OutboxStats, StoreError> {
        self.store.stats().await
    }

    async fn heartbeat(&self, worker: &WorkerCard) -> Result<Fleet, StoreError> {
        self.store.heartbeat(worker).await
    }
}
