//! What a worker knows of a lane that it believes to hold.

use std::collections::{BTreeMap, BTreeSet};

use outbox_core::Position;

use super::action::Verdict;
use super::settle::Effect;
use super::tables::{Ending, Mark, Outcome, Row, Told};
use super::{ATTEMPTS, Mutant};

/// The part of a lane that is in a worker's memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// Token of the lease.
    pub token: u8,
    /// Until when the worker believes to hold the lease.
    pub deadline: u8,
    /// Reads begin behind this position.
    pub floor: Position,
    /// The last position that was read.
    pub cursor: Position,
    /// Transactions that began to write after a cursor had been read.
    pub stamps: Vec<(u64, Position)>,
    /// The answer of a read that is under way.
    pub reading: Option<Reading>,
    /// Records in memory, until their outcome is written.
    pub known: BTreeMap<Position, Known>,
    /// Failed records that later ones of their key wait for.
    pub failed: BTreeSet<(u8, Position)>,
    /// Keys whose head is dead.
    pub parked: BTreeSet<u8>,
    /// Records that others hold by a claim.
    pub claimed: BTreeSet<Position>,
    /// Records whose claim is over and that no read has looked for since.
    pub unread: BTreeSet<Position>,
    mutant: Option<Mutant>,
}

/// What the database saw of a lane when a read came by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reading {
    /// Due records.
    pub rows: BTreeMap<Position, Row>,
    /// What is said about open transactions.
    pub mark: Mark,
    rewound: bool,
}

/// A record in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Known {
    /// As it was read.
    pub row: Row,
    /// How far it came.
    pub progress: Progress,
}

/// How far a record came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Progress {
    /// It is on its way to the broker.
    InFlight,
    /// It was not sent yet.
    Queued,
    /// Its outcome is to be written, or was and nobody heard of it.
    Unwritten {
        /// How its attempt ended.
        ending: Ending,
        /// Whether it may be written already.
        repeated: bool,
    },
}

impl Window {
    pub(super) fn new(token: u8, deadline: u8, told: Told, mutant: Option<Mutant>) -> Self {
        Self {
            token,
            deadline,
            floor: Position(0),
            cursor: Position(0),
            stamps: Vec::new(),
            reading: None,
            known: BTreeMap::new(),
            failed: told.awaited(),
            parked: told.parked,
            claimed: told.claimed.into_keys().collect(),
            unread: BTreeSet::new(),
            mutant,
        }
    }

    /// Outcomes that are to be written, in order of position.
    pub fn outcomes(&self, lane: u8) -> Vec<(Outcome, bool)> {
        let unwritten = |(position, known): (&Position, &Known)| {
            let Progress::Unwritten { ending, repeated } = known.progress else { return None };
            let (position, token, revision) = (*position, self.token, known.row.revision);
            Some((Outcome { lane, position, token, revision, ending }, repeated))
        };
        self.known.iter().filter_map(unwritten).collect()
    }

    /// Whether a record is on its way or its outcome is not written.
    pub fn is_busy(&self) -> bool {
        self.known.values().any(|known| known.progress != Progress::Queued)
    }

    /// Positions that a read leaves out.
    pub fn left_out(&self) -> BTreeSet<Position> {
        if self.mutant == Some(Mutant::NoTombstone) {
            return BTreeSet::new();
        }
        self.known.keys().chain(&self.claimed).copied().collect()
    }

    /// Takes what the store tells now of claims, parked keys and failed records.
    pub(super) fn take_told(&mut self, told: Told) {
        self.free_keys(&told);
        let over: Vec<Position> =
            self.claimed.iter().filter(|at| !told.claimed.contains_key(at)).copied().collect();
        self.claimed = told.claimed.into_keys().collect();
        for position in over {
            // It may be gone, wait for another attempt, or be there under another revision.
            self.rewind(position);
            self.unread.insert(position);
        }
        let (known, claimed, unread) = (&self.known, &self.claimed, &self.unread);
        let undecided =
            |at: &Position| known.contains_key(at) || claimed.contains(at) || unread.contains(at);
        self.failed.retain(|failed| undecided(&failed.1) || told.waiting.contains(failed));
    }

    pub(super) fn begin_read(&mut self, rows: BTreeMap<Position, Row>, mark: Mark) {
        self.reading = Some(Reading { rows, mark, rewound: false });
    }

    pub(super) fn end_read(&mut self, reading: Reading) {
        for (position, row) in reading.rows {
            if row.available_at.is_none() {
                self.cursor = self.cursor.max(position);
            }
            let parked = row.key.is_some_and(|key| self.parked.contains(&key));
            let progress = if parked { unwritten(Ending::Parked) } else { Progress::Queued };
            self.known.entry(position).or_insert(Known { row, progress });
        }
        if self.mutant == Some(Mutant::CursorWithoutFloor) {
            self.floor = self.cursor;
        } else if !reading.rewound {
            self.unread.clear();
            self.advance(reading.mark);
        }
    }

    /// Moves the floor behind what no open transaction can commit below.
    fn advance(&mut self, mark: Mark) {
        match mark {
            Mark::Horizon(horizon) => {
                while let Some((_, cursor)) = self.stamps.first().filter(|(at, _)| *at <= horizon) {
                    self.floor = self.floor.max(*cursor);
                    self.stamps.remove(0);
                }
            }
            Mark::Ordered => self.floor = self.floor.max(self.cursor),
            Mark::Unknown => {}
        }
    }

    pub(super) fn stamp(&mut self, number: u64) {
        let newer = self.stamps.last().is_none_or(|(_, last)| *last < self.cursor);
        if newer && self.floor < self.cursor {
            self.stamps.push((number, self.cursor));
        }
    }

    /// Whether the record is the next of its key.
    pub fn is_next(&self, position: Position) -> bool {
        let Some(this) = self.known.get(&position) else { return false };
        if this.progress != Progress::Queued {
            return false;
        }
        let Some(key) = this.row.key else { return true };
        let before = |(at, other): (&Position, &Known)| match other.progress {
            _ if other.row.key != Some(key) || *at == position => false,
            Progress::InFlight => true,
            Progress::Queued => *at < position,
            Progress::Unwritten { ending, .. } => ending == Ending::Dead,
        };
        let failed = |(of, at): &(u8, Position)| *of == key && *at < position;
        !self.known.iter().any(before) && !self.failed.iter().any(failed)
    }

    pub(super) fn send(&mut self, position: Position) {
        if let Some(known) = self.known.get_mut(&position) {
            known.progress = Progress::InFlight;
            self.failed.retain(|(_, at)| *at != position);
        }
    }

    pub(super) fn take_verdict(&mut self, position: Position, verdict: Verdict) {
        let Some(known) = self.known.get_mut(&position) else { return };
        let last = known.row.attempts + 1 >= ATTEMPTS;
        let ending = match verdict {
            Verdict::Accepted => Ending::Published,
            Verdict::Rejected => Ending::Dead,
            Verdict::AnswerLost | Verdict::Refused if last => Ending::Dead,
            Verdict::AnswerLost | Verdict::Refused => Ending::Failed,
        };
        known.progress = unwritten(ending);
        if ending == Ending::Failed {
            self.failed.extend(known.row.key.map(|key| (key, position)));
        }
    }

    /// A settlement ended unheard: its outcomes may be written already.
    pub(super) fn doubt_outcomes(&mut self) {
        for known in self.known.values_mut() {
            if let Progress::Unwritten { repeated, .. } = &mut known.progress {
                *repeated = true;
            }
        }
    }

    /// A settlement was answered for this outcome.
    pub(super) fn written(&mut self, outcome: &Outcome, repeated: bool, effect: Effect) {
        let position = outcome.position;
        let key = self.known.remove(&position).and_then(|known| known.row.key);
        if effect != Effect::Applied {
            self.rewind(position);
        }
        let Some(key) = key else { return };
        let counts = effect == Effect::Applied || repeated;
        match outcome.ending {
            Ending::Dead if !counts => _ = self.failed.insert((key, position)),
            Ending::Dead if self.mutant != Some(Mutant::NoPark) => self.park(key),
            // What moved nothing is no proof that the key is free: the store tells that.
            Ending::Dead | Ending::Failed | Ending::Parked | Ending::Published => {}
        }
    }

    fn park(&mut self, key: u8) {
        self.parked.insert(key);
        self.failed.retain(|(of, _)| *of != key);
        for known in self.known.values_mut() {
            if known.row.key == Some(key) && known.progress == Progress::Queued {
                known.progress = unwritten(Ending::Parked);
            }
        }
    }

    /// Forgets what was known of keys that are no longer parked, and reads them from their start.
    fn free_keys(&mut self, told: &Told) {
        let freed: BTreeSet<u8> = self.parked.difference(&told.parked).copied().collect();
        if freed.is_empty() {
            return;
        }
        self.parked.retain(|key| !freed.contains(key));
        // They are to be sent now. One may have been moved and put back under another revision.
        self.known.retain(|_, known| {
            let moving =
                matches!(known.progress, Progress::Unwritten { ending: Ending::Parked, .. });
            !moving || known.row.key.is_none_or(|key| !freed.contains(&key))
        });
        self.failed.extend(told.awaited().into_iter().filter(|(key, _)| freed.contains(key)));
        if self.mutant != Some(Mutant::FloorKept) {
            self.floor = Position(0);
        }
        if self.mutant != Some(Mutant::OldAnswerTaken) {
            // It was given before the head was put back, and shows records behind it.
            self.reading = None;
        }
    }

    /// Reads from before this position again, and takes no proof from a read that is under way.
    fn rewind(&mut self, position: Position) {
        self.floor = self.floor.min(Position(position.0 - 1));
        if let Some(reading) = &mut self.reading {
            reading.rewound = true;
        }
    }
}

const fn unwritten(ending: Ending) -> Progress {
    Progress::Unwritten { ending, repeated: false }
}
