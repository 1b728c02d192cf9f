//! The contract, call by call.

use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use outbox_core::{
    Batch, ClaimRefused, Failure, Fleet, LaneLease, LaneState, LeaseRequest, LeaseTime,
    OutboxStats, OutboxStore, Outcome, ReadRequest, RecordClaim, RecordClaims, RecordRef, Settled,
    StoreError, WorkerCard, WorkerId,
};

use super::MemoryStore;
use super::fault::StoreCall;
use super::state::State;

impl MemoryStore {
    /// One call: the step is atomic, and what the test planned for this call surrounds it.
    async fn call<T>(
        &self,
        call: StoreCall,
        step: impl FnOnce(&mut State, DateTime<Utc>) -> Result<T, StoreError> + Send,
    ) -> Result<T, StoreError> {
        let plan = self.shared.faults.arrive(call);
        plan.before().await;
        self.shared.faults.refusal(call, &plan)?;
        let answer = self.change(|state| step(state, self.now()));
        plan.after().await?;
        answer
    }
}

#[async_trait]
impl OutboxStore for MemoryStore {
    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LaneLease>, StoreError> {
        self.call(StoreCall::Lease, |state, now| Ok(state.lease(request, now))).await
    }

    async fn renew(
        &self,
        leases: &[LaneLease],
        lease: LeaseTime,
    ) -> Result<Vec<LaneLease>, StoreError> {
        self.call(StoreCall::Renew, |state, now| Ok(state.renew(leases, lease, now))).await
    }

    async fn release(&self, leases: &[LaneLease]) -> Result<(), StoreError> {
        self.call(StoreCall::Release, |state, now| {
            state.release(leases, now);
            Ok(())
        })
        .await
    }

    async fn acquired(&self, leases: &[LaneLease]) -> Result<Vec<LaneState>, StoreError> {
        self.call(StoreCall::Acquired, |state, now| Ok(state.acquired(leases, now))).await
    }

    async fn mark_suspect(
        &self,
        lease: &LaneLease,
        record: Option<RecordRef>,
    ) -> Result<bool, StoreError> {
        let call = StoreCall::MarkSuspect;
        self.call(call, |state, now| Ok(state.mark_suspect(lease, record, now))).await
    }

    async fn read(&self, request: &ReadRequest) -> Result<Batch, StoreError> {
        self.call(StoreCall::Read, |state, now| Ok(state.read(request, now))).await
    }

    async fn settle(&self, outcomes: &[Outcome]) -> Result<Settled, StoreError> {
        self.call(StoreCall::Settle, |state, now| state.settle(outcomes, now)).await
    }

    async fn stats(&self) -> Result<OutboxStats, StoreError> {
        self.call(StoreCall::Stats, |state, now| Ok(state.stats(now))).await
    }

    async fn heartbeat(&self, worker: &WorkerCard) -> Result<Fleet, StoreError> {
        self.call(StoreCall::Heartbeat, |state, now| Ok(state.heartbeat(worker, now))).await
    }
}

#[async_trait]
impl RecordClaims for MemoryStore {
    async fn try_claim(
        &self,
        record: &RecordRef,
        owner: WorkerId,
        lease: LeaseTime,
    ) -> Result<Result<RecordClaim, ClaimRefused>, StoreError> {
        let call = StoreCall::TryClaim;
        self.call(call, |state, now| Ok(state.try_claim(record, owner, lease, now))).await
    }

    async fn renew_claim(&self, claim: &RecordClaim, lease: LeaseTime) -> Result<bool, StoreError> {
        let call = StoreCall::RenewClaim;
        self.call(call, |state, now| Ok(state.renew_claim(claim, lease, now))).await
    }

    async fn complete_claim(&self, claim: &RecordClaim) -> Result<bool, StoreError> {
        let call = StoreCall::CompleteClaim;
        self.call(call, |state, now| Ok(state.complete_claim(claim, now))).await
    }

    async fn fail_claim(
        &self,
        claim: &RecordClaim,
        failure: &Failure,
        delay: Duration,
    ) -> Result<bool, StoreError> {
        let call = StoreCall::FailClaim;
        self.call(call, |state, now| Ok(state.fail_claim(claim, failure, delay, now))).await
    }
}
