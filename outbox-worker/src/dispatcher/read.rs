//! Bringing due records in.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use outbox_core::{
    Batch, DeadReason, DuePlace, Lane, LaneRead, LeaseToken, Position, ReadMark, ReadRequest,
    StoreError, UndecodableRow, Withheld,
};
use tokio::time::Instant;

use super::desk::{Answer, Desk, Running, bounded};
use super::held::Ticket;
use super::lane_window::{DueExtent, Extent, LaneAnswer, LaneWindow, Look};
use super::pace::Pace;
use super::spans;
use crate::metrics::Measurement;

pub(super) type ReadAnswer = Result<Batch, StoreError>;

/// Which lanes a read covers, and under which leases.
#[derive(Debug)]
pub(super) struct ReadTicket {
    reader: usize,
    due_only: bool,
    withholds: bool,
    begun: Instant,
    lanes: Vec<(LaneRead, LeaseToken)>,
}

impl ReadTicket {
    /// How much of each lane the answer is about.
    fn looks(&self, batch: &Batch) -> Vec<Look> {
        let reached: HashMap<Lane, Position> = batch.reached.iter().copied().collect();
        let due: HashMap<Lane, DuePlace> = batch.due_reached.iter().copied().collect();
        let extent = |lane: &Lane| match reached.get(lane) {
            // No new record was looked at.
            _ if self.due_only => Extent::ToLast,
            Some(Position(i64::MAX)) => Extent::All,
            Some(reached) => Extent::Reached(*reached),
            // Where something is withheld, a store may have stopped anywhere.
            None if batch.truncated || self.withholds => Extent::ToLast,
            None => Extent::All,
        };
        let due = |lane: &Lane| match due.get(lane) {
            reached if self.withholds => DueExtent::Reached(reached.copied()),
            _ if batch.truncated => DueExtent::BeforeNew,
            _ => DueExtent::All,
        };
        let look = |lane: &Lane| Look { new: extent(lane), due: due(lane) };
        self.lanes.iter().map(|(read, _)| look(&read.lane)).collect()
    }
}

/// One of the reads that may run at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader {
    pub(super) pace: Pace,
    running: bool,
}

impl Reader {
    pub(super) fn new(idle_poll: Duration) -> Self {
        Self { pace: Pace::new(idle_poll), running: false }
    }
}

/// Due records that are read even when memory is full. A failed record holds back its whole key, so
/// what waits behind it must not keep it from being read again.
const DUE_ONLY: NonZeroU32 = NonZeroU32::new(100).unwrap();

impl Desk {
    pub(super) fn start_reading(&mut self, now: Instant) {
        self.look_for_withheld();
        let due = |reader: &Reader| !reader.running && reader.pace.next() <= now;
        if self.is_quiet() {
            // An idle worker asks for all of its lanes in one statement.
            if !self.is_reading() && due(&self.readers[0]) {
                self.start_read(now, 0, 1);
            }
            return;
        }
        for reader in 0..self.readers.len() {
            if due(&self.readers[reader]) {
                self.start_read(now, reader, self.readers.len());
            }
        }
    }

    /// When the next read is due, unless every reader is at it.
    pub(super) fn next_read(&self) -> Option<Instant> {
        if self.is_quiet() {
            return (!self.is_reading()).then(|| self.readers[0].pace.next());
        }
        let free = self.readers.iter().filter(|reader| !reader.running);
        free.map(|reader| reader.pace.next()).min()
    }

    /// Something may have been staged just now.
    pub(super) fn look(&mut self) {
        let now = Instant::now();
        self.readers.iter_mut().for_each(|reader| reader.pace.due_at(now));
    }

    fn is_quiet(&self) -> bool {
        !self.readers.iter().any(|reader| reader.pace.is_busy())
    }

    fn is_reading(&self) -> bool {
        self.readers.iter().any(|reader| reader.running)
    }

    /// Reads soon if something that reads left out is wanted again, and there is room for it.
    fn look_for_withheld(&mut self) {
        let destinations: Vec<Withheld> = self.destinations.withheld().collect();
        let now = Instant::now();
        let lacks =
            |window: &LaneWindow| window.may_be_read(now) && window.lacks_withheld(&destinations);
        if self.lanes.values().any(lacks) && matches!(self.room(), Some((_, false))) {
            self.look();
        }
    }

    /// What a read of these lanes leaves out.
    fn withhold(&mut self, lanes: &[Lane]) -> HashSet<Withheld> {
        let destinations: Vec<Withheld> = self.destinations.withheld().collect();
        let mut without = HashSet::new();
        for lane in lanes {
            let Some(window) = self.lanes.get_mut(lane) else { continue };
            window.withhold(&destinations);
            without.extend(window.withheld().cloned());
        }
        without
    }

    fn start_read(&mut self, now: Instant, reader: usize, parts: usize) {
        self.readers[reader].pace.begin(now);
        self.make_room();
        let Some((records, due_only)) = self.room() else {
            return self.readers[reader].pace.wait_for_room();
        };
        let chosen = self.choose_lanes(now, reader, parts);
        let without = self.withhold(&chosen);
        let (withholds, begun, lanes) = (!without.is_empty(), now, Vec::new());
        let mut ticket = ReadTicket { reader, due_only, withholds, begun, lanes };
        let mut known = Vec::new();
        let mut lanes = Vec::new();
        for lane in chosen {
            let Some(window) = self.lanes.get_mut(&lane) else { continue };
            let read = window.begin_read(withholds);
            known.extend(window.known());
            ticket.lanes.push((read, window.lease.token));
            let floor = if due_only { Position(i64::MAX) } else { read.floor };
            lanes.push(LaneRead { floor, ..read });
        }
        if lanes.is_empty() {
            return self.readers[reader].pace.found_nothing();
        }
        self.readers[reader].running = true;
        let bytes = self.parts.settings.read_bytes;
        let without = without.into_iter().collect();
        let request = ReadRequest { lanes, known, without, records, bytes };
        let store = Arc::clone(&self.parts.store);
        let limit = self.parts.settings.store_timeout;
        let span = spans::read(request.lanes.len());
        self.spawn(Running::Read(ticket), span, async move {
            let answer = bounded(limit, store.read(&request)).await;
            spans::found(answer.as_ref().map_or(0, |batch| batch.records.len()));
            Answer::Read(answer)
        });
    }

    /// The lanes of the next read, beginning anywhere: where records are too large for one of each lane,
    /// those that come first have theirs.
    fn choose_lanes(&self, now: Instant, reader: usize, parts: usize) -> Vec<Lane> {
        let mine = |lane: &Lane| usize::from(lane.number()) % parts == reader;
        let open = self.lanes.iter().filter(|(lane, window)| mine(lane) && window.may_be_read(now));
        let mut lanes: Vec<Lane> = open.map(|(lane, _)| *lane).collect();
        let first = fastrand::usize(..lanes.len().max(1));
        lanes.rotate_left(first);
        lanes
    }

    /// Lets go of what cannot be sent now if half of the memory is taken.
    fn make_room(&mut self) {
        let settings = &self.parts.settings;
        let (records, bytes) = self.held();
        if records < settings.held_records.get() / 2 && bytes < settings.held_bytes / 2 {
            return;
        }
        let (call, part) = (self.call_limit(), self.parts.settings.held_bytes / 4);
        for held in self.destinations.shed(call, part) {
            // Out of sight, a scheduled record is not told from one that is gone, and what stands
            // behind it under its key would go before it.
            let record = &held.record;
            let scheduled = record.available_at.is_some() && record.attempts == 0;
            if scheduled && record.message.ordering_key.is_some() {
                self.destinations.put_back(held);
            } else if let Some(window) = self.lanes.get_mut(&held.reference().lane) {
                window.shed(&held);
            }
        }
        self.lanes.values_mut().for_each(LaneWindow::shed_excess);
    }

    /// How many records may be read, and whether only those that are due again.
    fn room(&self) -> Option<(NonZeroU32, bool)> {
        let settings = &self.parts.settings;
        let (records, bytes) = self.held();
        let most = settings.held_records.get();
        if records < most && bytes < settings.held_bytes {
            let room = u32::try_from(most - records).unwrap_or(u32::MAX);
            return Some((NonZeroU32::new(room)?.min(settings.read_records), false));
        }
        (records < most * 2 && bytes < settings.held_bytes * 2).then_some((DUE_ONLY, true))
    }

    pub(super) fn take_read(&mut self, ticket: ReadTicket, answer: ReadAnswer) {
        self.readers[ticket.reader].running = false;
        let batch = match answer {
            Ok(batch) => batch,
            Err(error) => return self.take_failed_read(&ticket, &error),
        };
        self.reading.worked(&self.parts);
        let (records, took) = (batch.records.len(), ticket.begun.elapsed());
        self.parts.measure(&Measurement::Read { records, took });
        let mut fresh = false;
        // A read that left out the new records says nothing about them, nor about late commits.
        let mark = if ticket.due_only { ReadMark::Unknown } else { batch.mark };
        let looks = ticket.looks(&batch);
        let highest = batch.records.iter().map(|record| record.reference.position).max();
        let mut answers = by_lane(batch);
        for ((read, token), look) in ticket.lanes.into_iter().zip(looks) {
            let Some(window) = self.lanes.get_mut(&read.lane) else { continue };
            if window.lease.token != token {
                continue;
            }
            let answer = answers.remove(&read.lane).unwrap_or_default();
            window.reach(highest);
            let entries = window.accept(read.floor, answer, look, mark);
            // Past what is left out, the next part of a lane is looked at without a pause.
            let passed = matches!(look.new, Extent::Reached(_)) && window.floor() > read.floor;
            fresh |= !entries.is_empty() || passed || window.has_due_left();
            for entry in entries {
                self.admit(read.lane, entry);
            }
            let freed = self.lanes.get_mut(&read.lane).map(LaneWindow::freed);
            for entry in freed.unwrap_or_default() {
                self.take_turn(entry);
            }
        }
        self.say_deaths();
        self.keep_pace(ticket.reader, fresh);
    }

    fn keep_pace(&mut self, reader: usize, found: bool) {
        if !found {
            return self.readers[reader].pace.found_nothing();
        }
        if self.is_quiet() {
            // The first find after a quiet time wakes every reader.
            return self.readers.iter_mut().for_each(|reader| reader.pace.found());
        }
        self.readers[reader].pace.found();
    }

    fn take_failed_read(&mut self, ticket: &ReadTicket, error: &StoreError) {
        self.reading.failed(&self.parts, ticket.begun, error);
        for (read, token) in &ticket.lanes {
            if let Some(window) = self.lanes.get_mut(&read.lane)
                && window.lease.token == *token
            {
                window.end_read();
            }
        }
        let pace = &mut self.readers[ticket.reader].pace;
        pace.found_nothing();
        pace.due_at(Instant::now() + self.reading.pause());
    }

    /// A row that cannot be decoded becomes a dead letter when its turn comes, and stops nobody but
    /// what stands behind it under its key.
    pub(super) fn bury(&mut self, row: &UndecodableRow, token: LeaseToken) {
        let ticket = Ticket::undecodable(row, token);
        let dead = self.dead_letter(&ticket, DeadReason::Undecodable, row.error.clone());
        self.write_unsent(&ticket, dead);
    }
}

/// The answer lane by lane.
fn by_lane(batch: Batch) -> BTreeMap<Lane, LaneAnswer> {
    let mut answers: BTreeMap<Lane, LaneAnswer> = BTreeMap::new();
    for record in batch.records {
        answers.entry(record.reference.lane).or_default().records.push(record);
    }
    for row in batch.undecodable {
        answers.entry(row.reference.lane).or_default().undecodable.push(row);
    }
    answers
}
