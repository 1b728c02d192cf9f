//! One ordering key of a lane: its records go out one at a time.

use std::collections::{BTreeMap, BTreeSet};

use outbox_core::Position;

use super::held::Entry;

/// Records of a key that may wait in memory; more of them would crowd out those of other keys.
const MANY: usize = 64;
/// So few that the next read can be waited for.
const FEW: usize = 16;

/// What is to be done with a record of a key.
#[derive(Debug)]
pub(super) enum Admission {
    /// It is the next of its key.
    Next(Box<Entry>),
    /// Its key is parked: it leaves the hot table.
    Park(Box<Entry>),
    /// An earlier record of its key comes first.
    Wait,
}

/// The records of one ordering key that are in memory.
#[derive(Debug, Default)]
pub(super) struct KeyQueue {
    /// The record that is queued for sending or on its way.
    busy: Option<Position>,
    waiting: BTreeMap<Position, Entry>,
    /// Records that failed and wait to be due again; later ones wait for them.
    failed: BTreeSet<Position>,
    /// Those of them that others hold by a claim: they are new when they come.
    claimed: BTreeSet<Position>,
    /// Records that were let go of before they were sent: later ones wait until they are read anew.
    shed: BTreeSet<Position>,
    parked: bool,
}

impl KeyQueue {
    /// Takes a record that was read.
    pub(super) fn admit(&mut self, entry: Entry) -> Admission {
        if self.parked {
            return Admission::Park(Box::new(entry));
        }
        self.shed.remove(&entry.position());
        self.claimed.remove(&entry.position());
        self.waiting.insert(entry.position(), entry);
        self.next().map_or(Admission::Wait, |entry| Admission::Next(Box::new(entry)))
    }

    /// The broker took the record, or it is gone: the next one may go.
    pub(super) fn passed(&mut self, position: Position) -> Option<Entry> {
        self.leave(position);
        self.next()
    }

    /// The record failed: later ones wait until it is due again and read anew.
    pub(super) fn failed(&mut self, position: Position) {
        self.leave(position);
        self.failed.insert(position);
    }

    /// The key has a record that failed before this lane was leased.
    pub(super) fn waits_for(&mut self, position: Position) {
        self.failed.insert(position);
    }

    /// Somebody else may send a record of the key, or leave it to be read.
    pub(super) fn waits_for_claimed(&mut self, position: Position) {
        self.failed.insert(position);
        self.claimed.insert(position);
    }

    /// The record that failed is gone, so nothing waits for it any longer.
    pub(super) fn resolved(&mut self, position: Position) -> Option<Entry> {
        self.failed.remove(&position);
        self.claimed.remove(&position);
        self.next()
    }

    /// The record is dead and its key parked: all that waits is handed out to be parked.
    pub(super) fn park(&mut self) -> Vec<Entry> {
        self.busy = None;
        self.failed.clear();
        self.claimed.clear();
        self.shed.clear();
        self.parked = true;
        std::mem::take(&mut self.waiting).into_values().collect()
    }

    /// An operator freed the key.
    pub(super) const fn unpark(&mut self) {
        self.parked = false;
    }

    /// Lets go of the record that was the next.
    pub(super) fn shed(&mut self, position: Position) {
        self.leave(position);
        self.shed.insert(position);
    }

    /// Whether records were let go of that are not read anew yet.
    pub(super) fn lacks_shed(&self) -> bool {
        !self.shed.is_empty()
    }

    /// Lets go of what waits in memory beyond what is of use soon, if it `stays_away` then.
    pub(super) fn shed_waiting(&mut self, stays_away: impl Fn(Position) -> bool) -> Vec<Position> {
        let blocked = self.wants_none() || (self.busy.is_none() && self.lacks_shed());
        let room = if blocked { 0 } else { MANY };
        let excess = self.waiting.keys().copied().skip(room).filter(|at| stays_away(*at));
        let excess: Vec<Position> = excess.collect();
        for position in &excess {
            self.waiting.remove(position);
        }
        self.shed.extend(&excess);
        excess
    }

    /// All records up to here are read: one that was let go of and is not `known` is gone. Returns the
    /// one that may go now.
    pub(super) fn read_up_to(
        &mut self,
        seen: Position,
        known: impl Fn(Position) -> bool,
    ) -> Option<Entry> {
        self.shed.retain(|position| *position > seen || known(*position));
        self.next()
    }

    /// Whether nothing needs to be remembered.
    pub(super) fn is_idle(&self) -> bool {
        self.busy.is_none()
            && self.waiting.is_empty()
            && self.failed.is_empty()
            && self.shed.is_empty()
            && !self.parked
    }

    /// Whether more records of the key would only take up memory.
    ///
    /// While one that failed is awaited, none is wanted. `already` says that none is read now, so that
    /// reading does not begin again for each record that is sent.
    pub(super) fn is_full(&self, already: bool) -> bool {
        self.wants_none() || self.waiting.len() >= if already { FEW } else { MANY }
    }

    /// Whether this record of the key is held by others.
    pub(super) fn is_claimed(&self, position: Position) -> bool {
        self.claimed.contains(&position)
    }

    /// Whether no record is wanted, as one that failed is awaited. One that others hold by a claim is
    /// new when it comes, and would not be read then. Nor would one that was let go of and comes before
    /// the one that failed, as one that was scheduled may leave it behind: each would wait for the other.
    fn wants_none(&self) -> bool {
        let shed_before = self.shed.first().is_some_and(|shed| Some(shed) < self.failed.first());
        self.awaits_failed() && self.claimed.is_empty() && !shed_before
    }

    fn awaits_failed(&self) -> bool {
        self.busy.is_none() && !self.failed.is_empty()
    }

    /// Records that failed and are awaited.
    pub(super) fn awaited(&self) -> impl Iterator<Item = Position> + '_ {
        self.failed.iter().copied()
    }

    fn leave(&mut self, position: Position) {
        if self.busy == Some(position) {
            self.busy = None;
        }
    }

    fn next(&mut self) -> Option<Entry> {
        if self.busy.is_some() {
            return None;
        }
        let first = self.waiting.first_entry()?;
        let position = *first.key();
        let earlier = |other: &Position| *other < position;
        let waits = [&self.failed, &self.shed].iter().any(|set| set.first().is_some_and(earlier));
        if waits {
            return None;
        }
        self.failed.remove(&position);
        self.busy = Some(position);
        Some(first.remove())
    }
}
