//! The protocol as the checker walks through it.

use std::collections::BTreeSet;

use outbox_testing::CommitOrder;
use outbox_testing::protocol::{
    Action, CallEnding, Claim, ClaimCall, Draft, Mutant, Progress, State, Verdict, Window, step,
};
use stateright::{Model, Property};

use super::history::{Fate, History, Opening, Promise};

/// How far the checker goes. Two workers, one lane.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    pub(super) commits: CommitOrder,
    /// Staged in this order, each in a transaction of its own.
    pub(super) drafts: Vec<Draft>,
    /// How many of them are committed before anything else happens.
    pub(super) committed: usize,
    /// The last tick.
    pub(super) ticks: u8,
    /// How many things go wrong in one run.
    pub(super) faults: u8,
    /// How many claims are taken in one run.
    pub(super) claims: usize,
    /// How often an operator frees a key.
    pub(super) unparks: u8,
    pub(super) mutant: Option<Mutant>,
}

/// A state, what led there, and what is still to come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Seen {
    pub(super) state: State,
    pub(super) history: History,
    pub(super) staged: usize,
    pub(super) faults: u8,
    pub(super) unparks: u8,
}

impl Bounds {
    /// These records, staged and committed at any time, while nothing goes wrong and time stands.
    pub(super) const fn of(drafts: Vec<Draft>) -> Self {
        let commits = CommitOrder::Ordered;
        Self {
            commits,
            drafts,
            committed: 0,
            ticks: 0,
            faults: 0,
            claims: 0,
            unparks: 0,
            mutant: None,
        }
    }

    /// One property for each promise, under its name.
    pub(super) fn promises() -> Vec<Property<Self>> {
        macro_rules! kept {
            ($($promise:ident)+) => {
                vec![$(Property::always(stringify!($promise), |_: &Self, seen: &Seen| {
                    !seen.history.broken.contains(&Promise::$promise)
                })),+]
            };
        }
        kept! {
            AttemptsCountOnce
            ClaimExcludesOthers
            ClaimedRecordIsNotSent
            ClaimedRecordIsNotSettled
            DeadHeadParksItsKey
            EarlierAttemptChangesNothing
            FreedGoInOrder
            KeyOrder
            NamedWindowsOnly
            NothingLost
            OneLiveLease
            StaleClaimChangesNothing
            StaleTokenChangesNothing
        }
    }
}

impl Model for Bounds {
    type State = Seen;
    type Action = Action;

    fn init_states(&self) -> Vec<Seen> {
        let state = match self.mutant {
            Some(mutant) => State::broken(self.commits, 1, 2, mutant),
            None => State::new(self.commits, 1, 2),
        };
        let mut seen =
            Seen { state, history: History::default(), staged: 0, faults: 0, unparks: 0 };
        for draft in &self.drafts[..self.committed] {
            seen = self.next_state(&seen, Action::Stage(*draft)).expect("anybody may stage");
            let number = *seen.state.tables.open.keys().next().expect("it was just opened");
            seen = self.next_state(&seen, Action::Commit(number)).expect("it is open");
        }
        vec![seen]
    }

    fn actions(&self, seen: &Seen, actions: &mut Vec<Action>) {
        let state = &seen.state;
        actions.extend(self.drafts.get(seen.staged).copied().map(Action::Stage));
        actions.extend((state.now < self.ticks).then_some(Action::Tick));
        actions.extend(possible(state).into_iter().filter(|action| tells(state, action)));
        let left = self.faults - seen.faults;
        actions.retain(|action| match action {
            Action::Claim { .. } => state.claimants.len() < self.claims,
            Action::Unpark { .. } => seen.unparks < self.unparks,
            _ => faults_in(action) <= left,
        });
    }

    fn next_state(&self, seen: &Seen, action: Action) -> Option<Seen> {
        let state = step(&seen.state, action).ok()?;
        Some(Seen {
            history: seen.history.after(&seen.state, &action, &state),
            state,
            staged: seen.staged + usize::from(matches!(action, Action::Stage(_))),
            faults: seen.faults + faults_in(&action),
            unparks: seen.unparks + u8::from(matches!(action, Action::Unpark { .. })),
        })
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = Self::promises();
        if self.mutant.is_none() {
            properties.extend(sights());
        }
        properties
    }
}

/// What must be seen somewhere, or the bounds are too tight to say anything.
fn sights() -> Vec<Property<Bounds>> {
    macro_rules! repeated_by {
        ($($opening:ident)+) => {
            vec![$(Property::sometimes(
                concat!("repeated by ", stringify!($opening)),
                |_: &Bounds, seen: &Seen| {
                    let alone = BTreeSet::from([Opening::$opening]);
                    let repeated = |fate: &Fate| fate.accepted > 1 && fate.opened == alone;
                    seen.history.fates.values().any(repeated)
                },
            )),+]
        };
    }
    let mut sights = repeated_by! { AnswerLost Crash Drain Lease OutcomeLost };
    sights.push(Property::sometimes("all delivered", |bounds: &Bounds, seen: &Seen| {
        let fates = &seen.history.fates;
        fates.len() == bounds.drafts.len() && fates.values().all(|fate| fate.accepted > 0)
    }));
    sights
        .push(Property::sometimes("parked", |_, seen: &Seen| !seen.state.tables.parked.is_empty()));
    sights.push(Property::sometimes("two workers hold one lane in memory", |_, seen: &Seen| {
        seen.state.workers.iter().all(|worker| !worker.windows.is_empty())
    }));
    sights.push(Property::sometimes("claimed in a leased lane", |_, Seen { state, .. }: &Seen| {
        let leased = state.tables.lanes.iter().any(|slot| slot.live(state.now).is_some());
        leased && state.tables.claims.values().any(|claim| claim.is_live(state.now))
    }));
    sights.push(Property::sometimes("completed by a claim", |_, Seen { state, .. }: &Seen| {
        let gone = |claim: &Claim| !state.tables.rows.contains_key(&claim.position);
        state.claimants.iter().any(|(claim, claimant)| claimant.sent && gone(claim))
    }));
    sights.push(Property::sometimes("freed and delivered", |_, seen: &Seen| {
        let delivered = seen.history.fates.values().all(|fate| fate.accepted > 0);
        seen.unparks > 0 && delivered && seen.state.tables.rows.is_empty()
    }));
    sights
}

/// Everything that can happen by itself, without what the bounds decide.
pub(super) fn possible(state: &State) -> Vec<Action> {
    let mut actions = Vec::new();
    for number in state.tables.open.keys() {
        actions.extend([Action::Commit(*number), Action::Rollback(*number)]);
    }
    for flight in &state.wire {
        let verdicts =
            [Verdict::Accepted, Verdict::AnswerLost, Verdict::Refused, Verdict::Rejected];
        actions.extend(verdicts.map(|verdict| Action::Verdict(*flight, verdict)));
    }
    actions.extend(state.late.iter().copied().map(Action::Late));
    actions.extend(state.tables.parked_keys.keys().map(|key| Action::Unpark { key: *key }));
    let rows = state.tables.rows.iter();
    actions
        .extend(rows.map(|(position, row)| Action::Claim { lane: row.lane, position: *position }));
    for claim in state.claimants.keys() {
        let calls = [ClaimCall::Complete, ClaimCall::Fail, ClaimCall::Renew, ClaimCall::Send];
        actions.extend(calls.map(|call| Action::Claimed(*claim, call)));
    }
    for (worker, memory) in (0_u8..).zip(&state.workers) {
        if !has_twin(state, worker) {
            actions.push(Action::Lease { worker, lanes: u8::MAX });
        }
        if !memory.windows.is_empty() {
            let all =
                [Action::Crash { worker }, Action::Drain { worker }, Action::Renew { worker }];
            actions.extend(all);
        }
        for (lane, window) in &memory.windows {
            actions.extend(possible_in(worker, *lane, window));
        }
    }
    actions
}

fn possible_in(worker: u8, lane: u8, window: &Window) -> Vec<Action> {
    let mut actions = vec![match window.reading {
        None => Action::BeginRead { worker, lane },
        Some(_) => Action::EndRead { worker, lane },
    }];
    let queued = window.known.keys().filter(|position| window.is_next(**position));
    actions.extend(queued.map(|position| Action::Send { worker, lane, position: *position }));
    let unwritten = |progress| matches!(progress, Progress::Unwritten { .. });
    if window.known.values().any(|known| unwritten(known.progress)) {
        let endings = [CallEnding::Answered, CallEnding::AnswerLost, CallEnding::Delayed];
        actions.extend(endings.map(|ending| Action::Settle { worker, lane, ending }));
        actions.push(Action::GiveUp { worker, lane });
    }
    if !window.is_busy() {
        actions.push(Action::Release { worker, lane });
    }
    actions
}

/// Whether a worker with a lower number is in the same state, so that it may stand for this one.
fn has_twin(state: &State, worker: u8) -> bool {
    let idle = |number: u8| {
        let windows = &state.workers[usize::from(number)].windows;
        windows.is_empty() && !state.wire.iter().any(|flight| flight.worker == number)
    };
    idle(worker) && (0..worker).any(idle)
}

/// Whether a read would tell its worker anything.
fn tells(state: &State, action: &Action) -> bool {
    let Action::BeginRead { worker, lane } = action else { return true };
    let window = &state.workers[usize::from(*worker)].windows[lane];
    let found = state.tables.read(*lane, window.floor, &window.left_out(), state.now);
    !found.is_empty() || !window.stamps.is_empty()
}

/// How many things go wrong in an action, or interrupt the work. What follows from one is free, and so
/// is what a claimant does, as claims are counted.
fn faults_in(action: &Action) -> u8 {
    u8::from(match action {
        Action::Crash { .. }
        | Action::Drain { .. }
        | Action::Release { .. }
        | Action::Rollback(_) => true,
        Action::Settle { ending, .. } => *ending != CallEnding::Answered,
        Action::Verdict(_, verdict) => *verdict != Verdict::Accepted,
        _ => false,
    })
}
