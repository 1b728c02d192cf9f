//! The store as one worker sees it, with the faults that its calls meet.

use async_trait::async_trait;
use outbox_core::{
    Batch, Fleet, LaneLease, LaneState, LeaseRequest, LeaseTime, OutboxStats, OutboxStore, Outcome,
    ReadRequest, RecordRef, Settled, StoreError, StoreErrorKind, WorkerCard,
};
use outbox_testing::StoreCall;

use super::fault::{Fault, Place};
use super::line::Line;
use super::plan::millis;
use super::statement::Answer;

#[derive(Debug)]
pub(super) struct SimulatedStore(pub(super) Line);

impl SimulatedStore {
    async fn call<T: Send + 'static>(
        &self,
        call: StoreCall,
        effect: impl FnOnce(&Line) -> Answer<T> + Send + 'static,
    ) -> Answer<T> {
        self.call_or(call, |_| {}, effect).await
    }

    /// One statement, on its way, in effect and on its way back. `missed` happens instead of the
    /// effect if it does not get there in time.
    async fn call_or<T: Send + 'static>(
        &self,
        call: StoreCall,
        missed: impl FnOnce(&Line) + Send,
        effect: impl FnOnce(&Line) -> Answer<T> + Send + 'static,
    ) -> Answer<T> {
        let line = &self.0;
        line.pass(Place::Store).await;
        line.travel().await;
        line.pass(Place::Store).await;
        let fault = line.world.state().store_fault(line.worker, call);
        let Some(fault) = fault else {
            let answer = effect(line);
            line.pass(Place::Store).await;
            line.travel().await;
            return answer;
        };
        let mut effect = Some(effect);
        let arrives = match fault {
            Fault::StoreAnswerLost => true,
            Fault::StoreCallHangs | Fault::StoreCallPanics => line.world.state().coin(),
            _ => false,
        };
        match effect.take_if(|_| arrives) {
            Some(effect) => _ = effect(line)?,
            None => missed(line),
        }
        match (fault, effect) {
            (Fault::StatementLate, Some(effect)) => put_off(line, effect),
            (Fault::StoreCallHangs, _) => {}
            (Fault::StoreCallPanics, _) => std::panic::resume_unwind(Box::new("as the seed says")),
            _ => return Err(unavailable()),
        }
        line.hang().await
    }
}

fn put_off<T>(line: &Line, effect: impl FnOnce(&Line) -> Answer<T> + Send + 'static) {
    let late = line.clone();
    let mut state = line.world.state();
    let by = state.draw_time(millis(10), millis(3000));
    state.put_off(by, Box::new(move || drop(effect(&late))));
}

fn unavailable() -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, "as the seed says")
}

#[async_trait]
impl OutboxStore for SimulatedStore {
    async fn lease(&self, request: &LeaseRequest) -> Answer<Vec<LaneLease>> {
        let request = request.clone();
        self.call(StoreCall::Lease, move |line| line.lease(&request)).await
    }

    async fn renew(&self, leases: &[LaneLease], lease: LeaseTime) -> Answer<Vec<LaneLease>> {
        let leases = leases.to_vec();
        self.call(StoreCall::Renew, move |line| line.renew(&leases, lease)).await
    }

    async fn release(&self, leases: &[LaneLease]) -> Answer<()> {
        let leases = leases.to_vec();
        self.call(StoreCall::Release, move |line| line.release(&leases)).await
    }

    async fn acquired(&self, leases: &[LaneLease]) -> Answer<Vec<LaneState>> {
        let asked = leases.to_vec();
        let states = self.call(StoreCall::Acquired, move |line| line.acquired(&asked)).await?;
        self.0.learn(leases);
        Ok(states)
    }

    async fn mark_suspect(&self, lease: &LaneLease, record: Option<RecordRef>) -> Answer<bool> {
        let lease = *lease;
        self.call(StoreCall::MarkSuspect, move |line| line.mark_suspect(&lease, record)).await
    }

    async fn read(&self, request: &ReadRequest) -> Answer<Batch> {
        let request = request.clone();
        self.call(StoreCall::Read, move |line| line.read(&request)).await
    }

    async fn settle(&self, outcomes: &[Outcome]) -> Answer<Settled> {
        let written = outcomes.to_vec();
        let missed = |line: &Line| line.miss(outcomes);
        self.call_or(StoreCall::Settle, missed, move |line| line.settle(&written)).await
    }

    async fn stats(&self) -> Answer<OutboxStats> {
        self.call(StoreCall::Stats, Line::stats).await
    }

    async fn heartbeat(&self, worker: &WorkerCard) -> Answer<Fleet> {
        let card = worker.clone();
        self.call(StoreCall::Heartbeat, move |line| line.heartbeat(&card)).await
    }
}
