//! The whole system at one moment, and what follows.

use std::collections::{BTreeMap, BTreeSet};

use outbox_core::Position;

use super::Mutant;
use super::action::{Action, Refusal, Verdict};
use super::claim::{Claim, Claimant};
use super::tables::{Ending, Outcome, Tables};
use super::window::Progress;
use super::worker::Worker;
use crate::CommitOrder;

/// The whole system at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The database's clock.
    pub now: u8,
    /// What is stored.
    pub tables: Tables,
    /// What the workers have in memory.
    pub workers: Vec<Worker>,
    /// Whoever claimed single records, by the claim.
    pub claimants: BTreeMap<Claim, Claimant>,
    /// Messages on their way to the broker, whoever still waits for its word.
    pub wire: BTreeSet<Flight>,
    /// Outcomes that may arrive at the database at any later time, or never.
    pub late: BTreeSet<Outcome>,
}

/// A message on its way to the broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Flight {
    /// Who sent it.
    pub worker: u8,
    /// The record's lane.
    pub lane: u8,
    /// The record.
    pub position: Position,
    /// Token of the lease under which it was sent.
    pub token: u8,
    /// Revision under which the record was read.
    pub revision: u8,
    /// The last tick at which it can end.
    pub until: u8,
}

/// The state after an action.
///
/// # Errors
/// Why the action cannot happen in this state. A stale worker's call can: it changes no table.
pub fn step(state: &State, action: Action) -> Result<State, Refusal> {
    let mut next = state.clone();
    next.take(action)?;
    Ok(next)
}

impl State {
    /// An empty outbox with this many lanes and idle workers.
    pub fn new(commits: CommitOrder, lanes: u8, workers: u8) -> Self {
        Self::build(commits, lanes, workers, None)
    }

    /// The same with one mistake in the protocol.
    pub fn broken(commits: CommitOrder, lanes: u8, workers: u8, mutant: Mutant) -> Self {
        Self::build(commits, lanes, workers, Some(mutant))
    }

    fn build(commits: CommitOrder, lanes: u8, workers: u8, mutant: Option<Mutant>) -> Self {
        Self {
            now: 0,
            tables: Tables::new(commits, lanes, mutant),
            workers: vec![Worker::default(); usize::from(workers)],
            claimants: BTreeMap::new(),
            wire: BTreeSet::new(),
            late: BTreeSet::new(),
        }
    }

    fn take(&mut self, action: Action) -> Result<(), Refusal> {
        match action {
            Action::BeginRead { worker, lane } => self.begin_read(worker, lane),
            Action::Claim { lane, position } => self.claim(lane, position),
            Action::Claimed(claim, call) => self.call_claim(&claim, call),
            Action::Commit(number) => found(self.tables.commit(number)),
            Action::Crash { worker } => self.crash(worker),
            Action::Drain { worker } => self.drain(worker),
            Action::EndRead { worker, lane } => self.end_read(worker, lane),
            Action::GiveUp { worker, lane } => self.give_up(worker, lane),
            Action::Late(outcome) => self.take_late(&outcome),
            Action::Lease { worker, lanes } => self.lease(worker, lanes),
            Action::Release { worker, lane } => self.release(worker, lane),
            Action::Renew { worker } => self.renew(worker),
            Action::Rollback(number) => found(self.tables.open.remove(&number).is_some()),
            Action::Send { worker, lane, position } => self.send(worker, lane, position),
            Action::Settle { worker, lane, ending } => self.settle(worker, lane, ending),
            Action::Stage(draft) => {
                self.tables.stage(draft);
                Ok(())
            }
            Action::Tick => self.tick(),
            Action::Unpark { key } => found(self.tables.unpark(key)),
            Action::Verdict(flight, verdict) => self.take_verdict(&flight, verdict),
        }
    }

    fn tick(&mut self) -> Result<(), Refusal> {
        if self.wire.iter().any(|flight| flight.until <= self.now) {
            return Err(Refusal::SendUnderWay);
        }
        self.now += 1;
        Ok(())
    }

    fn take_late(&mut self, outcome: &Outcome) -> Result<(), Refusal> {
        found(self.late.remove(outcome))?;
        self.tables.settle(outcome, self.now);
        self.tables.stamp();
        Ok(())
    }

    fn take_verdict(&mut self, flight: &Flight, verdict: Verdict) -> Result<(), Refusal> {
        found(self.wire.remove(flight))?;
        let Flight { worker, lane, position, token, revision, .. } = *flight;
        if verdict == Verdict::AnswerLost {
            // The answer may come after all, and somebody may report it.
            let ending = Ending::Published;
            self.late.insert(Outcome { lane, position, token, revision, ending });
        }
        // Whoever died, or lost the lane and knows it, waits for no verdict.
        if let Ok(window) = self.window(worker, lane)
            && window.token == token
            && window.known.get(&position).is_some_and(|it| it.progress == Progress::InFlight)
        {
            window.take_verdict(position, verdict);
        }
        Ok(())
    }
}

const fn found(found: bool) -> Result<(), Refusal> {
    if found { Ok(()) } else { Err(Refusal::Nothing) }
}
