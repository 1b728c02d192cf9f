//! Stores that make a mistake, to know that it would be seen.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use outbox_core::{
    Batch, ClaimRefused, Failure, Fleet, LaneLease, LaneState, LeaseRequest, LeaseTime,
    OutboxStats, OutboxStore, Outcome, Position, ReadRequest, RecordClaim, RecordClaims, RecordRef,
    Settled, StoreError, WorkerCard, WorkerId,
};
use outbox_test_databases::lend_sqlite;

use super::database::{Outbox, Store};
use super::series;
use super::{OPERATIONS, run};

const MISTAKES: [Mistake; 11] = [
    Mistake::CompletesNothing,
    Mistake::CutsAtWill,
    Mistake::ForgetsClaims,
    Mistake::ForgetsParkedKeys,
    Mistake::IgnoresFloor,
    Mistake::IgnoresKnown,
    Mistake::IgnoresWithheld,
    Mistake::ReachesTooFar,
    Mistake::RenewsAnyClaim,
    Mistake::RenewsNothing,
    Mistake::SettlesHalf,
];

/// What a store gets wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    CompletesNothing,
    CutsAtWill,
    ForgetsClaims,
    ForgetsParkedKeys,
    IgnoresFloor,
    IgnoresKnown,
    IgnoresWithheld,
    ReachesTooFar,
    RenewsAnyClaim,
    RenewsNothing,
    SettlesHalf,
}

#[tokio::test]
async fn a_mistake_of_a_store_is_seen() {
    for mistake in MISTAKES {
        let mut outbox = Outbox::open(lend_sqlite()).await;
        let store = Arc::clone(&outbox.store);
        outbox.store = Arc::new(Mistaken { store, mistake });

        let mut seen = false;
        for seed in 0..100 {
            seen = run(&outbox, &series::run(seed, OPERATIONS)).await.is_err();
            if seen {
                break;
            }
        }

        assert!(seen, "{mistake:?} was not seen");
    }
}

#[derive(Debug)]
struct Mistaken {
    store: Arc<dyn Store>,
    mistake: Mistake,
}

#[async_trait]
impl OutboxStore for Mistaken {
    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LaneLease>, StoreError> {
        self.store.lease(request).await
    }

    async fn renew(
        &self,
        leases: &[LaneLease],
        lease: LeaseTime,
    ) -> Result<Vec<LaneLease>, StoreError> {
        let leases = if self.mistake == Mistake::RenewsNothing { &[] } else { leases };
        self.store.renew(leases, lease).await
    }

    async fn release(&self, leases: &[LaneLease]) -> Result<(), StoreError> {
        self.store.release(leases).await
    }

    async fn acquired(&self, leases: &[LaneLease]) -> Result<Vec<LaneState>, StoreError> {
        let mut states = self.store.acquired(leases).await?;
        for state in &mut states {
            match self.mistake {
                Mistake::ForgetsClaims => state.claimed.clear(),
                Mistake::ForgetsParkedKeys => state.parked.clear(),
                _ => {}
            }
        }
        Ok(states)
    }

    async fn mark_suspect(
        &self,
        lease: &LaneLease,
        record: Option<RecordRef>,
    ) -> Result<bool, StoreError> {
        self.store.mark_suspect(lease, record).await
    }

    async fn read(&self, request: &ReadRequest) -> Result<Batch, StoreError> {
        let mut request = request.clone();
        match self.mistake {
            Mistake::IgnoresFloor => {
                for lane in &mut request.lanes {
                    lane.floor.0 = 0;
                }
            }
            Mistake::IgnoresKnown => request.known.clear(),
            Mistake::IgnoresWithheld => request.without.clear(),
            _ => {}
        }
        let mut batch = self.store.read(&request).await?;
        match self.mistake {
            Mistake::CutsAtWill if batch.truncated => _ = batch.records.pop(),
            Mistake::ReachesTooFar if !request.without.is_empty() => {
                let lanes = request.lanes.iter();
                batch.reached = lanes.map(|read| (read.lane, Position(i64::MAX))).collect();
            }
            _ => {}
        }
        Ok(batch)
    }

    async fn settle(&self, outcomes: &[Outcome]) -> Result<Settled, StoreError> {
        let half = outcomes.len().div_ceil(2);
        let outcomes =
            if self.mistake == Mistake::SettlesHalf { &outcomes[..half] } else { outcomes };
        self.store.settle(outcomes).await
    }

    async fn stats(&self) -> Result<OutboxStats, StoreError> {
        self.store.stats().await
    }

    async fn heartbeat(&self, worker: &WorkerCard) -> Result<Fleet, StoreError> {
        self.store.heartbeat(worker).await
    }
}

#[async_trait]
impl RecordClaims for Mistaken {
    async fn try_claim(
        &self,
        record: &RecordRef,
        owner: WorkerId,
        lease: LeaseTime,
    ) -> Result<Result<RecordClaim, ClaimRefused>, StoreError> {
        self.store.try_claim(record, owner, lease).await
    }

    async fn renew_claim(&self, claim: &RecordClaim, lease: LeaseTime) -> Result<bool, StoreError> {
        let renewed = self.store.renew_claim(claim, lease).await?;
        Ok(renewed || self.mistake == Mistake::RenewsAnyClaim)
    }

    async fn complete_claim(&self, claim: &RecordClaim) -> Result<bool, StoreError> {
        if self.mistake == Mistake::CompletesNothing {
            return self.store.renew_claim(claim, LeaseTime::new(Duration::from_millis(1))?).await;
        }
        self.store.complete_claim(claim).await
    }

    async fn fail_claim(
        &self,
        claim: &RecordClaim,
        failure: &Failure,
        delay: Duration,
    ) -> Result<bool, StoreError> {
        self.store.fail_claim(claim, failure, delay).await
    }
}
