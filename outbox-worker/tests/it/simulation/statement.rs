//! The statements of a worker, as they take effect in the database.

use futures_util::FutureExt as _;
use outbox_core::{
    Batch, DeadReason, Fleet, LaneLease, LaneState, LeaseRequest, LeaseTime, OutboxStats, Outcome,
    ReadRequest, RecordRef, Settled, StoreError, WorkerCard,
};

use super::fault::Fault;
use super::journal::{Effect, Epoch, Fact, Written};
use super::line::Line;
use super::world::LaneTruth;

pub(super) type Answer<T> = Result<T, StoreError>;

/// Each takes effect at once, is written to the journal and is held against what the lanes are.
impl Line {
    pub(super) fn lease(&self, request: &LeaseRequest) -> Answer<Vec<LaneLease>> {
        let leases = at_once(self.store.lease(request))?;
        let mut state = self.world.state();
        let database = state.database();
        let mut told = Vec::new();
        for lease in &leases {
            let epoch = state.epoch(lease);
            let before = state.lanes.get(&lease.lane).copied();
            if let Some(before) = before.filter(|before| before.ends > database) {
                let lane = lease.lane;
                state
                    .violations
                    .push(format!("lane {lane} was leased under a live {}", before.epoch));
            }
            let ends = database + request.lease.duration();
            state.lanes.insert(lease.lane, LaneTruth { epoch, ends });
            told.push((lease.lane, epoch));
        }
        if !told.is_empty() {
            state.note(Fact::Leased { worker: self.worker, leases: told });
        }
        Ok(leases)
    }

    pub(super) fn renew(&self, leases: &[LaneLease], time: LeaseTime) -> Answer<Vec<LaneLease>> {
        let renewed = at_once(self.store.renew(leases, time))?;
        let mut state = self.world.state();
        let ends = state.database() + time.duration();
        for lease in &renewed {
            let epoch = state.epoch(lease);
            let held = state.lanes.get_mut(&lease.lane).filter(|lane| lane.epoch == epoch);
            if let Some(lane) = held {
                lane.ends = lane.ends.max(ends);
                state.cut.remove(&epoch);
            }
        }
        Ok(renewed)
    }

    pub(super) fn release(&self, leases: &[LaneLease]) -> Answer<()> {
        at_once(self.store.release(leases))?;
        let mut state = self.world.state();
        let database = state.database();
        let mut told = Vec::new();
        for lease in leases {
            let epoch = state.epoch(lease);
            let live = |lane: &&mut LaneTruth| lane.epoch == epoch && lane.ends > database;
            if let Some(lane) = state.lanes.get_mut(&lease.lane).filter(live) {
                lane.ends = database;
                told.push((lease.lane, epoch));
            }
        }
        state.note(Fact::Released { worker: self.worker, leases: told });
        Ok(())
    }

    pub(super) fn acquired(&self, leases: &[LaneLease]) -> Answer<Vec<LaneState>> {
        at_once(self.store.acquired(leases))
    }

    pub(super) fn mark_suspect(
        &self,
        lease: &LaneLease,
        record: Option<RecordRef>,
    ) -> Answer<bool> {
        at_once(self.store.mark_suspect(lease, record))
    }

    pub(super) fn read(&self, request: &ReadRequest) -> Answer<Batch> {
        at_once(self.store.read(request))
    }

    pub(super) fn heartbeat(&self, card: &WorkerCard) -> Answer<Fleet> {
        at_once(self.store.heartbeat(card))
    }

    pub(super) fn stats(&self) -> Answer<OutboxStats> {
        at_once(self.store.stats())
    }

    pub(super) fn settle(&self, outcomes: &[Outcome]) -> Answer<Settled> {
        let settled = at_once(self.store.settle(outcomes))?;
        for outcome in outcomes {
            let lost = settled.lost.iter().any(|lost| lost.token == outcome.token);
            let effect = if lost {
                Effect::Refused
            } else if settled.applied.contains(&outcome.record) {
                Effect::Applied
            } else {
                Effect::Unchanged
            };
            self.note_settled(outcome, effect);
        }
        Ok(settled)
    }

    /// A fault kept these from the database.
    pub(super) fn miss(&self, outcomes: &[Outcome]) {
        for outcome in outcomes {
            self.note_settled(outcome, Effect::Missed);
        }
    }

    fn note_settled(&self, outcome: &Outcome, effect: Effect) {
        let event = self.world.plan.event_of(outcome.record.id);
        let lane = outcome.record.lane;
        let mut state = self.world.state();
        let epoch = state.epoch(&LaneLease { lane, token: outcome.token });
        let database = state.database();
        let live = |lane: &LaneTruth| lane.epoch == epoch && lane.ends > database;
        if effect == Effect::Applied && !state.lanes.get(&lane).is_some_and(live) {
            state.violations.push(format!("{event} was settled under {epoch}, which was over"));
        }
        let outcome = Written::from(&outcome.kind);
        if outcome == Written::Dead(DeadReason::Undecodable) {
            state.meet_quietly(Fault::Undecodable);
        }
        state.note(Fact::Settled { event, epoch, outcome, effect });
    }

    /// The lease under which a message of this lane is sent: the last that the worker was told of. It
    /// may still ask about the one before, which it lost.
    pub(super) fn learn(&self, leases: &[LaneLease]) {
        let mut state = self.world.state();
        for lease in leases {
            let told: (Epoch, _) = (state.epoch(lease), state.now());
            let held = state.held.entry((self.worker, lease.lane)).or_insert(told);
            *held = told.max(*held);
        }
    }
}

/// The store in memory never waits.
fn at_once<T>(call: impl Future<Output = T>) -> T {
    call.now_or_never().unwrap()
}
