//! Another that holds single records by claims of its own.

use std::time::Duration;

use futures_util::FutureExt as _;
use outbox_core::{
    Failure, FailureKind, LeaseTime, RecordClaim, RecordClaims, RecordRef, WorkerId,
};
use outbox_testing::MemoryStore;

use super::fault::Fault;
use super::journal::{Answer, Effect, Epoch, Event, Fact, Send, Worker, Written};
use super::plan::{ClaimEnd, millis};
use super::world::World;

/// The lease that stands for a claim in the journal.
const NO_LEASE: Epoch = Epoch(0);

#[derive(Default)]
pub(super) struct Claimant {
    claims: Vec<(Duration, Event, RecordClaim, ClaimEnd)>,
}

impl Claimant {
    /// Nobody claims anything.
    pub(super) fn is_idle(&self) -> bool {
        self.claims.is_empty()
    }

    pub(super) fn claim(
        &mut self,
        world: &World,
        store: &MemoryStore,
        (event, record): (Event, RecordRef),
        (end, time): (ClaimEnd, Duration),
    ) {
        let lease = LeaseTime::new(time).unwrap();
        let claim = store.try_claim(&record, WorkerId::new(), lease);
        let Ok(claim) = claim.now_or_never().unwrap().unwrap() else { return };
        let mut state = world.state();
        state.meet(Fault::ClaimHeld, None);
        let until = state.database() + time;
        state.note(Fact::Claimed { event, until });
        let call = state.next_call();
        let (worker, lane) = (Worker(0), record.lane);
        let send = Send { event, call, worker, lane, epoch: NO_LEASE, is_fresh: false };
        let answer = match end {
            ClaimEnd::Completed | ClaimEnd::SentAndRunsOut => Some(Answer::Accepted),
            ClaimEnd::Failed => Some(Answer::Failed(FailureKind::Transient)),
            ClaimEnd::RunsOut => None,
        };
        if let Some(answer) = answer {
            state.note(Fact::Sent(send));
            if answer == Answer::Accepted {
                state.note(Fact::Taken(send));
            }
            state.note(Fact::Answered { event, call, answer });
        }
        let ends_itself = matches!(end, ClaimEnd::Completed | ClaimEnd::Failed);
        let ends = if ends_itself { time / 2 } else { time + millis(100) };
        self.claims.push((ends, event, claim, end));
    }

    /// Ends the claims whose time has come. All were made at the start.
    pub(super) fn end_claims(&mut self, world: &World, store: &MemoryStore, now: Duration) {
        for (_, event, claim, end) in self.claims.extract_if(.., |(at, ..)| *at <= now) {
            let failure = Failure::new(FailureKind::Transient, "as the seed says");
            let (settled, outcome) = match end {
                ClaimEnd::Completed => (store.complete_claim(&claim), Written::Published),
                _ => (store.fail_claim(&claim, &failure, millis(300)), Written::Failed),
            };
            let applied = settled.now_or_never().unwrap().unwrap();
            if applied {
                let (epoch, effect) = (NO_LEASE, Effect::Applied);
                world.note(Fact::Settled { event, epoch, outcome, effect });
            }
            world.note(Fact::ClaimOver { event });
        }
    }
}
