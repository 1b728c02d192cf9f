//! What an onlooker saw of the model, and which promises were broken before their eyes.
//!
//! The onlooker sees each state and each action, and believes no check that the protocol makes.

use std::collections::{BTreeMap, BTreeSet};

use outbox_core::Position;
use outbox_testing::protocol::{Action, Ending, Flight, Outcome, Progress, State, Verdict, Window};

/// What the protocol promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Promise {
    /// No failure counts twice, and nothing else counts.
    AttemptsCountOnce,
    /// A record is claimed only while nobody else may send it.
    ClaimExcludesOthers,
    /// The owner of a lane does not send what is under a live claim.
    ClaimedRecordIsNotSent,
    /// The owner of a lane does not settle what is under a live claim.
    ClaimedRecordIsNotSettled,
    /// After the head of a key died, no later record of it is sent until the key is freed.
    DeadHeadParksItsKey,
    /// An outcome of an earlier attempt changes nothing.
    EarlierAttemptChangesNothing,
    /// When a key is freed, its dead head and what was parked go in order of position.
    FreedGoInOrder,
    /// A record that was committed before another of its key was staged is delivered first, unless
    /// somebody claimed the other.
    KeyOrder,
    /// A record is delivered again only as often as a named window opened for it.
    NamedWindowsOnly,
    /// A committed record is stored or delivered, and no owner has left it behind its floor.
    NothingLost,
    /// No lane is leased while a lease of it is live.
    OneLiveLease,
    /// A claimant whose claim is over changes nothing.
    StaleClaimChangesNothing,
    /// A worker whose lease is over changes nothing.
    StaleTokenChangesNothing,
}

/// A named way to deliver a record again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Opening {
    AnswerLost,
    Crash,
    Drain,
    Lease,
    OutcomeLost,
}

/// What became of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Fate {
    pub(super) key: Option<u8>,
    committed: bool,
    /// Records of its key that were committed before it was staged.
    predecessors: BTreeSet<Position>,
    /// How often the broker took it.
    pub(super) accepted: u8,
    pub(super) failures: u8,
    openings: u8,
    pub(super) opened: BTreeSet<Opening>,
}

/// All that was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct History {
    pub(super) fates: BTreeMap<Position, Fate>,
    pub(super) broken: BTreeSet<Promise>,
    /// Records that came back when their key was freed, until they are sent.
    pub(super) freed: BTreeSet<Position>,
    /// Outcomes of attempts from before their key was freed.
    pub(super) outdated: BTreeSet<Outcome>,
}

impl History {
    /// What is known after one more step.
    pub(super) fn after(&self, before: &State, action: &Action, after: &State) -> Self {
        let mut next = self.clone();
        next.follow_records(before, action, after);
        next.follow_sends(before, action);
        next.follow_openings(before, action, after);
        next.follow_claims(before, action, after);
        next.follow_freed(before, action, after);
        next.check_fences(before, action, after);
        next.check_tables(after);
        next
    }

    fn follow_records(&mut self, before: &State, action: &Action, after: &State) {
        match action {
            Action::Commit(_) => {
                let (now, then) = (&after.tables.rows, &before.tables.rows);
                for (position, row) in now.iter().filter(|(at, _)| !then.contains_key(at)) {
                    self.staged(*position, row.key);
                    self.fate(*position).committed = true;
                }
            }
            Action::Rollback(number) => {
                let position = before.tables.open.get(number).and_then(|open| open.position);
                position.map(|position| self.fates.remove(&position));
            }
            Action::Stage(draft) => {
                let newest = after.tables.open.last_key_value();
                if let Some(position) = newest.and_then(|(_, open)| open.position) {
                    self.staged(position, draft.key);
                }
            }
            _ => {}
        }
    }

    /// A position that is drawn at the commit counts as staged then.
    fn staged(&mut self, position: Position, key: Option<u8>) {
        let same_key = |fate: &Fate| fate.committed && key.is_some() && fate.key == key;
        let earlier = self.fates.iter().filter(|(_, fate)| same_key(fate));
        let predecessors = earlier.map(|(position, _)| *position).collect();
        self.fates.entry(position).or_insert(Fate { key, predecessors, ..Fate::default() });
    }

    fn follow_sends(&mut self, before: &State, action: &Action) {
        match action {
            Action::Send { position, .. } => {
                let key = self.fate(*position).key;
                let dead = before.tables.dead.range(..position);
                if key.is_some() && dead.into_iter().any(|(_, row)| row.key == key) {
                    self.broken.insert(Promise::DeadHeadParksItsKey);
                }
            }
            Action::Verdict(flight, verdict) => self.follow_verdict(flight, *verdict),
            _ => {}
        }
    }

    fn follow_verdict(&mut self, flight: &Flight, verdict: Verdict) {
        if verdict == Verdict::AnswerLost {
            self.open(flight.position, Opening::AnswerLost);
        }
        if verdict != Verdict::Accepted {
            self.fate(flight.position).failures += 1;
        }
        if matches!(verdict, Verdict::Accepted | Verdict::AnswerLost) {
            self.accepted(flight.position);
        }
    }

    fn accepted(&mut self, position: Position) {
        let fate = self.fate(position).clone();
        let delivered = |earlier: &Position| self.fates.get(earlier).is_some_and(was_accepted);
        if fate.accepted == 0 && !fate.predecessors.iter().all(delivered) {
            self.broken.insert(Promise::KeyOrder);
        }
        self.delivered(position);
    }

    /// The broker took the record, whoever sent it.
    pub(super) fn delivered(&mut self, position: Position) {
        let fate = self.fate(position);
        let expected = fate.accepted <= fate.openings;
        fate.accepted += 1;
        if !expected {
            self.broken.insert(Promise::NamedWindowsOnly);
        }
    }

    fn follow_openings(&mut self, before: &State, action: &Action, after: &State) {
        match action {
            Action::Crash { worker } => {
                for window in before.workers[usize::from(*worker)].windows.values() {
                    self.open_exposed(window, Some(Opening::Crash), Opening::Crash);
                }
            }
            Action::Drain { worker } => {
                for window in before.workers[usize::from(*worker)].windows.values() {
                    self.open_exposed(window, Some(Opening::Drain), Opening::OutcomeLost);
                }
            }
            Action::GiveUp { worker, lane } => {
                let window = &before.workers[usize::from(*worker)].windows[lane];
                self.open_exposed(window, Some(Opening::OutcomeLost), Opening::OutcomeLost);
            }
            Action::Tick => {
                for (lane, slot) in (0_u8..).zip(&before.tables.lanes) {
                    let Some(holder) = slot.live(before.now) else { continue };
                    let ended = holder.expires_at <= after.now;
                    let owner = &before.workers[usize::from(holder.owner)];
                    if let Some(window) = owner.windows.get(&lane).filter(|_| ended) {
                        // The lease outlives a send, so that it is no excuse for one on its way.
                        self.open_exposed(window, None, Opening::Lease);
                    }
                }
            }
            _ => {}
        }
    }

    /// Records that the broker has, or may have, while that is not written down.
    fn open_exposed(&mut self, window: &Window, in_flight: Option<Opening>, unwritten: Opening) {
        for (position, known) in &window.known {
            match known.progress {
                Progress::InFlight => {
                    if let Some(opening) = in_flight {
                        self.open(*position, opening);
                    }
                }
                Progress::Unwritten { ending: Ending::Published, .. } => {
                    self.open(*position, unwritten);
                }
                Progress::Queued | Progress::Unwritten { .. } => {}
            }
        }
    }

    pub(super) fn open(&mut self, position: Position, opening: Opening) {
        let fate = self.fate(position);
        fate.openings += 1;
        fate.opened.insert(opening);
    }

    fn check_fences(&mut self, before: &State, action: &Action, after: &State) {
        match action {
            Action::Late(outcome) => self.check_outcome(before, outcome, after),
            Action::Lease { .. } => {
                let pairs = before.tables.lanes.iter().zip(&after.tables.lanes);
                if pairs.into_iter().any(|(was, is)| was.live(before.now).is_some() && was != is) {
                    self.broken.insert(Promise::OneLiveLease);
                }
            }
            Action::Release { worker, lane } => self.check_slot(before, *worker, *lane, after),
            Action::Drain { worker } | Action::Renew { worker } => {
                for lane in before.workers[usize::from(*worker)].windows.keys() {
                    self.check_slot(before, *worker, *lane, after);
                }
            }
            Action::Settle { worker, lane, .. } => {
                let window = &before.workers[usize::from(*worker)].windows[lane];
                for (outcome, _) in window.outcomes(*lane) {
                    self.check_outcome(before, &outcome, after);
                }
                if !holds(before, *worker, *lane) && !same_records(before, after) {
                    self.broken.insert(Promise::StaleTokenChangesNothing);
                }
            }
            _ => {}
        }
    }

    /// A lane that the worker does not hold stays as it was.
    fn check_slot(&mut self, before: &State, worker: u8, lane: u8, after: &State) {
        let slot = usize::from(lane);
        let changed = before.tables.lanes[slot] != after.tables.lanes[slot];
        if changed && !holds(before, worker, lane) {
            self.broken.insert(Promise::StaleTokenChangesNothing);
        }
    }

    fn check_outcome(&mut self, before: &State, outcome: &Outcome, after: &State) {
        let row = before.tables.rows.get(&outcome.position);
        let changed = row != after.tables.rows.get(&outcome.position);
        if changed && row.is_some_and(|row| row.revision != outcome.revision) {
            self.broken.insert(Promise::EarlierAttemptChangesNothing);
        }
        let holder = before.tables.lanes[usize::from(outcome.lane)].live(before.now);
        if changed && holder.is_none_or(|holder| holder.token != outcome.token) {
            self.broken.insert(Promise::StaleTokenChangesNothing);
        }
    }

    fn check_tables(&mut self, state: &State) {
        let tables = &state.tables;
        let stored = || tables.rows.iter().chain(&tables.dead).chain(&tables.parked);
        for (position, row) in stored() {
            if self.fates.get(position).is_none_or(|fate| row.attempts > fate.failures) {
                self.broken.insert(Promise::AttemptsCountOnce);
            }
        }
        let gone = |at: &Position| !stored().any(|(position, _)| position == at);
        let missing =
            |(at, fate): (&Position, &Fate)| fate.committed && !was_accepted(fate) && gone(at);
        if self.fates.iter().any(missing) || is_left_behind(state) {
            self.broken.insert(Promise::NothingLost);
        }
    }

    pub(super) fn fate(&mut self, position: Position) -> &mut Fate {
        self.fates.entry(position).or_default()
    }
}

const fn was_accepted(fate: &Fate) -> bool {
    fate.accepted > 0
}

/// Whether the worker's newest lease of the lane is the one that is live.
fn holds(state: &State, worker: u8, lane: u8) -> bool {
    let holder = state.tables.lanes[usize::from(lane)].live(state.now);
    holder.is_some_and(|holder| holder.owner == worker)
}

pub(super) fn same_records(before: &State, after: &State) -> bool {
    let (then, now) = (&before.tables, &after.tables);
    (&then.rows, &then.dead, &then.parked, &then.parked_keys)
        == (&now.rows, &now.dead, &now.parked, &now.parked_keys)
}

/// Whether an owner's reads begin behind a record that waits for its first attempt and that the
/// owner has never seen. Of claimed records and of keys that were freed the owner is told.
fn is_left_behind(state: &State) -> bool {
    let held = (0_u8..).zip(&state.workers).flat_map(|(worker, memory)| {
        let held = memory.windows.iter().filter(move |(lane, _)| holds(state, worker, **lane));
        held.map(|(lane, window)| (*lane, window))
    });
    held.into_iter().any(|(lane, window)| {
        let behind = state.tables.rows.range(..=window.floor);
        behind.into_iter().any(|(position, row)| {
            let seen = window.known.contains_key(position)
                || window.reading.as_ref().is_some_and(|it| it.rows.contains_key(position));
            let told_later = window.claimed.contains(position)
                || row.key.is_some_and(|key| window.parked.contains(&key));
            row.lane == lane && row.available_at.is_none() && !seen && !told_later
        })
    })
}
