//! Writing what became of records.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use outbox_core::{KeyRef, Lane, Outcome, OutcomeKind, Position, RecordRef, Settled, StoreError};
use tokio::time::Instant;

use super::crash_loop::Losses;
use super::desk::{Answer, Desk, Running, bounded};
use super::held::{Entry, Ticket, Unwritten};
use super::lane_window::LaneWindow;
use super::spans;
use crate::metrics::Measurement;

pub(super) type SettleAnswer = Result<Settled, StoreError>;

/// A record that is due later is found by the poll of that day; a policy's delay has no limit.
pub(super) const LATEST: Duration = Duration::from_hours(24);

/// Outcomes in one settlement.
const BATCH: usize = 300;

/// Outcomes of a part of the lanes that wait to be written; one settlement at a time.
#[derive(Debug)]
pub(super) struct Ledger {
    unwritten: Vec<Unwritten>,
    writing: bool,
    not_before: Instant,
}

impl Ledger {
    pub(super) const fn new(now: Instant) -> Self {
        Self { unwritten: Vec::new(), writing: false, not_before: now }
    }

    pub(super) const fn len(&self) -> usize {
        self.unwritten.len()
    }
}

impl Desk {
    /// Keeps the outcome of a record that was sent until it is written.
    pub(super) fn write_later(&mut self, ticket: &Ticket, kind: OutcomeKind) {
        if self.window_of(ticket).is_none() {
            // The lease is lost, so the outcome would be refused.
            return;
        }
        let ledger = self.ledger_of(ticket.record.lane);
        self.ledgers[ledger].unwritten.push(Unwritten {
            outcome: ticket.outcome(kind),
            key: ticket.key.clone(),
            give_up_at: Instant::now() + self.lease.duration(),
            repeated: false,
        });
    }

    /// Keeps the outcome of a record that was never sent.
    pub(super) fn write_unsent(&mut self, ticket: &Ticket, kind: OutcomeKind) {
        if let Some(window) = self.window_of(ticket) {
            window.unsettled += 1;
            self.write_later(ticket, kind);
        }
    }

    /// A record whose key is parked leaves the hot table.
    pub(super) fn park(&mut self, entry: &Entry) {
        self.write_unsent(&entry.ticket(), OutcomeKind::Parked);
    }

    pub(super) fn start_settling(&mut self, now: Instant) {
        for ledger in 0..self.ledgers.len() {
            let waiting = &self.ledgers[ledger];
            if !waiting.unwritten.is_empty() && !waiting.writing && waiting.not_before <= now {
                self.start_settle(ledger);
            }
        }
    }

    /// When a settlement that failed is tried again.
    pub(super) fn next_settle(&self) -> Option<Instant> {
        let waiting = self.ledgers.iter().filter(|s| !s.unwritten.is_empty() && !s.writing);
        waiting.map(|ledger| ledger.not_before).min()
    }

    /// Whether every outcome is written.
    pub(super) fn all_written(&self) -> bool {
        self.ledgers.iter().all(|ledger| ledger.unwritten.is_empty() && !ledger.writing)
    }

    fn start_settle(&mut self, index: usize) {
        let ledger = &mut self.ledgers[index];
        let count = ledger.unwritten.len().min(BATCH);
        let written: Vec<Unwritten> = ledger.unwritten.drain(..count).collect();
        ledger.writing = true;
        let outcomes: Vec<Outcome> = written.iter().map(|one| one.outcome.clone()).collect();
        // The settlement's number is drawn after these cursors were read.
        let cursors = self.cursors();
        let store = Arc::clone(&self.parts.store);
        let limit = self.parts.settings.store_timeout;
        let span = spans::settle(&outcomes);
        let begun = Instant::now();
        self.spawn(Running::Settle { ledger: index, cursors, written, begun }, span, async move {
            Answer::Settled(bounded(limit, store.settle(&outcomes)).await)
        });
    }

    pub(super) fn take_settled(
        &mut self,
        ledger: usize,
        cursors: &[(Lane, Position)],
        written: Vec<Unwritten>,
        begun: Instant,
        answer: SettleAnswer,
    ) {
        self.ledgers[ledger].writing = false;
        let (outcomes, took) = (written.len(), begun.elapsed());
        self.parts.measure(&Measurement::Settled { outcomes, took });
        match answer {
            Ok(settled) => {
                self.settling.worked(&self.parts);
                self.take_stamps(cursors, settled.stamp);
                self.take_written(written, &settled);
            }
            Err(error) => self.take_unwritten(ledger, written, begun, &error),
        }
    }

    /// Where each lane is read.
    pub(super) fn cursors(&self) -> Vec<(Lane, Position)> {
        self.lanes.iter().map(|(lane, window)| (*lane, window.cursor())).collect()
    }

    /// A transaction with this number began to write after these cursors were read.
    pub(super) fn take_stamps(&mut self, cursors: &[(Lane, Position)], stamp: Option<u64>) {
        let Some(number) = stamp else { return };
        for (lane, cursor) in cursors {
            if let Some(window) = self.lanes.get_mut(lane) {
                window.stamp(number, (*cursor).min(window.cursor()));
            }
        }
    }

    fn take_written(&mut self, written: Vec<Unwritten>, settled: &Settled) {
        for lost in &settled.lost {
            let current = self.lanes.get(&lost.lane).map(|window| window.lease.token);
            if current == Some(lost.token) {
                self.lose_lane(lost.lane);
            }
        }
        let applied: HashSet<(Lane, Position)> =
            settled.applied.iter().map(|record| (record.lane, record.position)).collect();
        for one in written {
            let record = one.outcome.record;
            let took_effect = applied.contains(&(record.lane, record.position));
            self.take_one(one, took_effect);
        }
    }

    fn take_one(&mut self, one: Unwritten, took_effect: bool) {
        let record = one.outcome.record;
        let token = one.outcome.token;
        let live = |window: &&mut LaneWindow| window.lease.token == token;
        let Some(window) = self.lanes.get_mut(&record.lane).filter(live) else { return };
        window.unsettled -= 1;
        window.forget(record.position);
        if took_effect && !matches!(one.outcome.kind, OutcomeKind::Parked) {
            // As the store did when it wrote it.
            window.losses = Losses::default();
        }
        if !took_effect {
            // If the record is still there, it is read again.
            window.rewind(record.position);
            self.expect_due(record.lane, Duration::ZERO);
        }
        // The repetition of a settlement finds nothing to do where the first one had done it, so
        // its outcome counts as written.
        if took_effect || one.repeated {
            self.count(&one.outcome.kind);
            self.follow(record, one.key, &one.outcome.kind);
        } else {
            self.follow_nothing(record, one.key, &one.outcome.kind);
        }
    }

    /// What an outcome that is written means for the record's key.
    fn follow(&mut self, record: RecordRef, key: Option<KeyRef>, kind: &OutcomeKind) {
        if let OutcomeKind::Failed { delay, .. } = kind {
            self.expect_due(record.lane, *delay);
        }
        if let (OutcomeKind::Dead { parks_key, .. }, Some(key)) = (kind, key)
            && let Some(window) = self.lanes.get_mut(&record.lane)
        {
            if *parks_key {
                for entry in window.key(&key).park() {
                    self.park(&entry);
                }
            } else {
                let next = window.key(&key).passed(record.position);
                window.tidy(&key);
                self.go_on(next);
            }
        }
    }

    /// What an outcome that changed nothing means for the record's key: other hands were at it.
    ///
    /// A record that is not sent may be gone or may wait for another attempt. Its key waits for it
    /// until the store says which.
    fn follow_nothing(&mut self, record: RecordRef, key: Option<KeyRef>, kind: &OutcomeKind) {
        let Some(key) = key else { return };
        let Some(window) = self.lanes.get_mut(&record.lane) else { return };
        match kind {
            OutcomeKind::Dead { .. } => window.key(&key).failed(record.position),
            OutcomeKind::Parked => window.key(&key).unpark(),
            OutcomeKind::Failed { .. } | OutcomeKind::Published => {}
        }
        window.tidy(&key);
    }

    /// The failed record is gone, so that nothing waits for it.
    pub(super) fn resolve(&mut self, lane: Lane, key: &KeyRef, position: Position) {
        let Some(window) = self.lanes.get_mut(&lane) else { return };
        let next = window.key(key).resolved(position);
        window.tidy(key);
        self.go_on(next);
    }

    /// A record of the lane will be due after this delay: a quiet worker looks then.
    pub(super) fn expect_due(&mut self, lane: Lane, delay: Duration) {
        let due = Instant::now() + delay.min(LATEST);
        let reader = usize::from(lane.number()) % self.readers.len();
        self.readers[reader].pace.due_at(due);
        // An idle worker reads all lanes at the pace of the first reader.
        self.readers[0].pace.due_at(due);
    }

    /// The settlement failed or its ending is unknown: it is repeated, which is harmless, until
    /// the time for it is over.
    fn take_unwritten(
        &mut self,
        ledger: usize,
        written: Vec<Unwritten>,
        begun: Instant,
        error: &StoreError,
    ) {
        self.settling.failed(&self.parts, begun, error);
        let now = Instant::now();
        let unknown = written.into_iter().map(|one| Unwritten { repeated: true, ..one });
        let (late, again): (Vec<_>, Vec<_>) = unknown.partition(|one| one.give_up_at <= now);
        let waiting = &mut self.ledgers[ledger];
        waiting.not_before = now + self.settling.pause();
        waiting.unwritten.splice(0..0, again);
        for one in late {
            self.parts.measure(&Measurement::OutcomeLost);
            // No longer renewed, so that whoever leases the lane next can send the record again.
            self.abandon_lane(&one.outcome);
        }
    }

    fn abandon_lane(&mut self, outcome: &Outcome) {
        let current = self.lanes.get(&outcome.record.lane).map(|window| window.lease.token);
        if current == Some(outcome.token) {
            tracing::error!(
                lane = outcome.record.lane.number(),
                "outcome could not be written for a whole lease: the lane is given up"
            );
            self.lose_lane(outcome.record.lane);
        }
    }

    /// Outcomes under a lease that is lost would be refused.
    pub(super) fn forget_outcomes_of(&mut self, window: &LaneWindow) {
        let ledger = self.ledger_of(window.lease.lane);
        self.ledgers[ledger].unwritten.retain(|one| one.outcome.token != window.lease.token);
    }

    fn count(&self, kind: &OutcomeKind) {
        match kind {
            OutcomeKind::Dead { reason, .. } => {
                self.parts.measure(&Measurement::Dead { reason: *reason });
            }
            OutcomeKind::Parked => self.parts.measure(&Measurement::Parked),
            OutcomeKind::Published => self.parts.measure(&Measurement::Published),
            OutcomeKind::Failed { .. } => {}
        }
    }

    fn ledger_of(&self, lane: Lane) -> usize {
        usize::from(lane.number()) % self.ledgers.len()
    }
}
