//! What a worker knows of one lane that it holds.

mod extent;
mod stamps;
mod withhold;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use outbox_core::{
    ClaimedRecord, KeyRef, LaneLease, LaneRead, LaneState, OutboxRecord, Position, ReadMark,
    UndecodableRow,
};
use tokio::time::Instant;

pub(super) use extent::{DueExtent, Extent, Look};

use super::claims::Claims;
use super::crash_loop::Losses;
use super::due_walk::DueWalk;
use super::held::{Entry, Held};
use super::key_queue::{Admission, KeyQueue};
use super::left_out::LeftOut;
use stamps::Stamps;

/// A record that is queued, in flight, or whose outcome is not written yet.
#[derive(Clone, Copy, Debug)]
struct Known {
    bytes: usize,
    /// It waited for an instant.
    due: bool,
    /// It failed before, or may have.
    tried: bool,
}

/// The answer to a read, as far as it concerns one lane.
#[derive(Debug, Default)]
pub(super) struct LaneAnswer {
    pub(super) records: Vec<OutboxRecord>,
    pub(super) undecodable: Vec<UndecodableRow>,
}

/// The part of a lane that is in memory, between its floor and its cursor.
///
/// The **cursor** is the last position that was read, in whatever lane: lanes share one sequence,
/// so a lane that has nothing due keeps up with the others. The **floor** trails it until every
/// transaction that could still commit behind the cursor has ended; reads start at the floor, so
/// that a late commit is found before anything that was staged after it, and what is scheduled is
/// not passed by every read.
///
/// A read leaves out what is **known** when it begins, and a lane is read by one read at a time. So
/// an answer cannot show a record that was settled while the read was under way.
#[expect(clippy::struct_excessive_bools, reason = "none of them follows from another")]
#[derive(Debug)]
pub(super) struct LaneWindow {
    pub(super) lease: LaneLease,
    /// Until when the lease surely holds, counted from before it was asked for.
    pub(super) deadline: Instant,
    /// To be handed over: nothing more is read or sent.
    pub(super) closing: bool,
    /// Records on their way or with an unwritten outcome.
    pub(super) unsettled: usize,
    /// Records that may be sent again once the lease is renewed.
    pub(super) stale: Vec<Held>,
    floor: Position,
    cursor: Position,
    /// Up to where the lane is read, but for what is withheld.
    read_to: Position,
    stamps: Stamps,
    reading: bool,
    /// The floor was moved back while a read was under way, whose answer then proves nothing.
    rewound: bool,
    /// The last read went to the end of the lane and found nothing.
    exhausted: bool,
    known: BTreeMap<Position, Known>,
    held_bytes: usize,
    keys: HashMap<KeyRef, KeyQueue>,
    left_out: LeftOut,
    due: DueWalk,
    /// Records that are not ours to send.
    claims: Claims,
    /// What workers before this one left.
    pub(super) losses: Losses,
}

impl LaneWindow {
    pub(super) fn new(lease: LaneLease, deadline: Instant, state: LaneState) -> Self {
        let losses = Losses::of(&state);
        let mut keys: HashMap<KeyRef, KeyQueue> = HashMap::new();
        for waiting in state.waiting {
            keys.entry(waiting.key).or_default().waits_for(waiting.head);
        }
        // A claim keeps no order, but what is sent from here does.
        for claimed in &state.claimed {
            if let Some(key) = claimed.key.clone() {
                keys.entry(key).or_default().waits_for_claimed(claimed.position);
            }
        }
        for (key, _) in state.parked {
            keys.entry(key).or_default().park();
        }
        Self {
            lease,
            deadline,
            closing: false,
            unsettled: 0,
            stale: Vec::new(),
            floor: Position(0),
            cursor: Position(0),
            read_to: Position(0),
            stamps: Stamps::default(),
            reading: false,
            rewound: false,
            exhausted: false,
            known: BTreeMap::new(),
            held_bytes: 0,
            keys,
            left_out: LeftOut::default(),
            due: DueWalk::default(),
            claims: Claims::new(&state.claimed),
            losses,
        }
    }

    /// Begins a read of this lane from its floor, which may withhold something.
    pub(super) fn begin_read(&mut self, withholds: bool) -> LaneRead {
        self.reading = true;
        let due_behind = if withholds { self.due.begin() } else { None };
        LaneRead { due_behind, ..LaneRead::new(self.lease.lane, self.floor) }
    }

    /// An answer about this lane and others shows a record at this position.
    pub(super) fn reach(&mut self, position: Option<Position>) {
        self.cursor = self.cursor.max(position.unwrap_or(self.cursor));
    }

    /// Takes the lane's part of an answer and returns what is new, in order of position: a record
    /// that was scheduled takes no place before those of its key that came first.
    pub(super) fn accept(
        &mut self,
        from: Position,
        answer: LaneAnswer,
        look: Look,
        mark: ReadMark,
    ) -> Vec<Entry> {
        let new = answer.records.iter().filter(|record| record.available_at.is_none());
        let last = new.map(|record| record.reference.position).max();
        let fresh = self.take_in(answer);
        let seen = match look.new {
            Extent::All => Position(i64::MAX),
            Extent::Reached(reached) => reached,
            // A cut answer says nothing about what lies behind its last record.
            Extent::ToLast => last.unwrap_or(from),
        };
        if let Extent::Reached(reached) = look.new {
            self.cursor = self.cursor.max(reached);
        }
        self.look_at_due(look.due, last.is_some());
        let is_at_end = look.new.goes_to_the_end(from) && self.due.is_done();
        self.exhausted = fresh.is_empty() && is_at_end && !self.rewound;
        // One that began behind the new floor, or left out a record that is not held any more, says
        // nothing.
        if !self.rewound {
            // Where nothing was left out, it is read as far as there is anything.
            let last = fresh.iter().map(Entry::position).max().unwrap_or_default();
            self.read_to = self.read_to.max(seen.min(last.max(self.cursor)));
            let (keys, left_out) = (&self.keys, &self.left_out);
            self.claims.looked(from, seen, |position| hides(left_out, keys, position));
            self.advance(seen, mark);
        }
        self.end_read();
        fresh
    }

    /// Takes how much of what waited was looked at.
    fn look_at_due(&mut self, due: DueExtent, has_new: bool) {
        match due {
            // It began before what it should show was wanted, or was let go of.
            _ if self.rewound => self.due.reach(None),
            DueExtent::All => self.due.see_all(),
            DueExtent::BeforeNew if has_new => self.due.see_all(),
            DueExtent::BeforeNew => {}
            DueExtent::Reached(place) => self.due.reach(place),
        }
        let (keys, left_out) = (&self.keys, &self.left_out);
        let hidden = |position| hides(left_out, keys, position);
        self.claims.looked_at_due(self.due.rounds(), hidden);
    }

    /// What of an answer is new, in order of position.
    fn take_in(&mut self, answer: LaneAnswer) -> Vec<Entry> {
        let (token, read_at) = (self.lease.token, Instant::now());
        let mut fresh = Vec::with_capacity(answer.records.len() + answer.undecodable.len());
        for record in answer.records {
            let (due, tried) = (record.available_at.is_some(), record.attempts > 0);
            let known = Known { bytes: record.message.size(), due, tried };
            if self.hold(record.reference.position, known) {
                fresh.push(Entry::Record(Held { record, token, read_at }));
            }
        }
        let broken = answer.undecodable.into_iter();
        let unknown = Known { bytes: 0, due: true, tried: true };
        let broken = broken.filter(|row| self.hold(row.reference.position, unknown));
        fresh.extend(broken.map(|row| Entry::Broken(row, token)));
        fresh.sort_by_key(Entry::position);
        fresh
    }

    /// A read of this lane ended, with or without an answer.
    pub(super) const fn end_read(&mut self) {
        self.reading = false;
        self.rewound = false;
    }

    /// The record's outcome is written, or it is no longer ours: reads may show it again.
    pub(super) fn forget(&mut self, position: Position) {
        if let Some(known) = self.known.remove(&position) {
            self.held_bytes -= known.bytes;
        }
    }

    /// Reads from before this position again: something appeared there that was out of sight.
    pub(super) fn rewind(&mut self, position: Position) {
        let before = Position(position.0 - 1);
        self.floor = self.floor.min(before);
        // It may be among what is withheld, and then the floor passes it once more.
        self.left_out.rewind(before);
        self.due.look_before();
        self.rewound = self.reading;
        self.exhausted = false;
    }

    /// A transaction with this number began to write after `cursor` had been read.
    pub(super) fn stamp(&mut self, number: u64, cursor: Position) {
        if self.floor < cursor {
            self.stamps.add(number, cursor);
        }
    }

    /// The queue of a key, made when it is first needed.
    pub(super) fn key(&mut self, key: &KeyRef) -> &mut KeyQueue {
        self.keys.entry(key.clone()).or_default()
    }

    /// Puts a record in its place: at once, behind others of its key, or aside.
    pub(super) fn admit(&mut self, entry: Entry) -> Admission {
        match entry.key() {
            Some(key) => self.key(&key).admit(entry),
            None => Admission::Next(Box::new(entry)),
        }
    }

    /// Forgets the key if there is nothing left to remember.
    pub(super) fn tidy(&mut self, key: &KeyRef) {
        if self.keys.get(key).is_some_and(KeyQueue::is_idle) {
            self.keys.remove(key);
        }
    }

    /// Failed records that must come back by themselves when they are due, in order of position.
    pub(super) fn awaited(&self) -> Vec<(KeyRef, Position)> {
        let mut awaited = Vec::new();
        for (key, queue) in &self.keys {
            let out_of_sight = queue
                .awaited()
                .filter(|position| !self.knows(*position) && self.claims.is_decided(*position));
            awaited.extend(out_of_sight.map(|position| (key.clone(), position)));
        }
        awaited.sort_unstable_by_key(|(_, position)| *position);
        awaited
    }

    /// Takes what the store tells of claims. Records that are claimed no more are read again.
    pub(super) fn take_claims(&mut self, claimed: &[ClaimedRecord]) -> bool {
        let over = self.claims.renew(claimed, self.due.next_round());
        for position in &over {
            self.rewind(*position);
        }
        !over.is_empty()
    }

    /// When the store should be asked about claims again.
    pub(super) fn next_claim_end(&self) -> Option<Instant> {
        self.claims.next_end()
    }

    /// Whether the store should be asked what became of a record.
    pub(super) fn has_claims(&self) -> bool {
        !self.claims.is_empty()
    }

    /// Positions that a read must leave out.
    pub(super) fn known(&self) -> impl Iterator<Item = Position> + '_ {
        // The others lie behind the floor, where only records that are due again are read.
        let visible = move |at: Position, known: &Known| at > self.floor || known.due;
        let held = self.known.iter().filter(move |(at, known)| visible(**at, known));
        held.map(|(at, _)| *at).chain(self.claims.claimed())
    }

    /// Whether the record is in memory.
    pub(super) fn knows(&self, position: Position) -> bool {
        self.known.contains_key(&position)
    }

    pub(super) const fn cursor(&self) -> Position {
        self.cursor
    }

    pub(super) const fn floor(&self) -> Position {
        self.floor
    }

    /// Whether there is nothing more to be read now, but for what is left out.
    pub(super) const fn is_exhausted(&self) -> bool {
        self.exhausted
    }

    /// Whether there is more to be looked at of what waited for an instant, without a pause.
    pub(super) const fn has_due_left(&self) -> bool {
        self.due.goes_on()
    }

    /// Whether a read of it may begin.
    pub(super) fn may_be_read(&self, now: Instant) -> bool {
        !self.reading && !self.closing && self.deadline > now
    }

    pub(super) fn held(&self) -> (usize, usize) {
        (self.known.len(), self.held_bytes)
    }

    /// Whether a send that begins now surely ends within the lease.
    pub(super) fn outlives(&self, now: Instant, reserve: Duration) -> bool {
        self.deadline.saturating_duration_since(now) >= reserve
    }

    fn hold(&mut self, position: Position, known: Known) -> bool {
        if self.known.contains_key(&position) {
            return false;
        }
        self.known.insert(position, known);
        self.held_bytes += known.bytes;
        true
    }

    fn advance(&mut self, seen: Position, mark: ReadMark) {
        let decided = match mark {
            ReadMark::Ordered => Some(self.cursor),
            ReadMark::Horizon(horizon) => self.stamps.decided_below(horizon, seen),
            ReadMark::Unknown => None,
        };
        if let Some(decided) = decided {
            self.floor = self.floor.max(decided.min(seen));
        }
    }
}

/// Whether reads leave out the key of this record, which is claimed.
fn hides(left_out: &LeftOut, keys: &HashMap<KeyRef, KeyQueue>, position: Position) -> bool {
    let mut of_record = keys.iter().filter(|(_, queue)| queue.is_claimed(position));
    of_record.any(|(key, _)| left_out.hides(key))
}
