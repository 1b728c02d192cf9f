//! Stores that make a mistake, to know that it would be seen.

use std::sync::Arc;

use async_trait::async_trait;
use outbox_core::{
    Batch, Fleet, LaneLease, LaneState, LeaseRequest, LeaseTime, OutboxStats, OutboxStore, Outcome,
    ReadRequest, Settled, StoreError, WorkerCard,
};
use outbox_test_databases::lend_sqlite;

use super::database::Outbox;
use super::operation;
use super::{OPERATIONS, run};

const MISTAKES: [Mistake; 6] = [
    Mistake::CutsAtWill,
    Mistake::ForgetsParkedKeys,
    Mistake::IgnoresFloor,
    Mistake::IgnoresKnown,
    Mistake::RenewsNothing,
    Mistake::SettlesHalf,
];

/// What a store gets wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    CutsAtWill,
    ForgetsParkedKeys,
    IgnoresFloor,
    IgnoresKnown,
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
            seen = run(&outbox, &operation::run(seed, OPERATIONS)).await.is_err();
            if seen {
                break;
            }
        }

        assert!(seen, "{mistake:?} was not seen");
    }
}

#[derive(Debug)]
struct Mistaken {
    store: Arc<dyn OutboxStore>,
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
        if self.mistake == Mistake::ForgetsParkedKeys {
            for state in &mut states {
                state.parked.clear();
            }
        }
        Ok(states)
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
            _ => {}
        }
        let mut batch = self.store.read(&request).await?;
        if self.mistake == Mistake::CutsAtWill && batch.truncated {
            batch.records.pop();
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
