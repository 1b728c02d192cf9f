//! One ordering key of a lane: its records go out one at a time.

use std::collections::{BTreeMap, BTreeSet};

use outbox_core::Position;

use super::held::Entry;

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
    parked: bool,
}

impl KeyQueue {
    /// Takes a record that was read.
    pub(super) fn admit(&mut self, entry: Entry) -> Admission {
        if self.parked {
            return Admission::Park(Box::new(entry));
        }
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

    /// The record that failed is gone, so nothing waits for it any longer.
    pub(super) fn resolved(&mut self, position: Position) -> Option<Entry> {
        self.failed.remove(&position);
        self.next()
    }

    /// The record is dead and its key parked: all that waits is handed out to be parked.
    pub(super) fn park(&mut self) -> Vec<Entry> {
        self.busy = None;
        self.failed.clear();
        self.parked = true;
        std::mem::take(&mut self.waiting).into_values().collect()
    }

    /// An operator freed the key.
    pub(super) const fn unpark(&mut self) {
        self.parked = false;
    }

    /// Whether nothing needs to be remembered.
    pub(super) fn is_idle(&self) -> bool {
        self.busy.is_none() && self.waiting.is_empty() && self.failed.is_empty() && !self.parked
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
        if self.failed.first().is_some_and(|failed| *failed < position) {
            return None;
        }
        self.failed.remove(&position);
        self.busy = Some(position);
        Some(first.remove())
    }
}
