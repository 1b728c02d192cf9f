//! The tables of the outbox.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::{DateTime, SubsecRound, Utc};
use outbox_core::{
    DuePlace, KeyRef, Lane, OutboxMessage, OutboxRecord, Position, ReadMark, RecordRef, Schedule,
    StagedMessage, WorkerCard, WorkerId,
};

use super::claim::Claim;
use super::inspect::DeadLetter;
use super::lease::Slot;
use crate::clock::later;

/// What the outbox knows of transactions that are still open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CommitOrder {
    /// Positions are drawn when a transaction stages, and transactions are numbered, as in
    /// PostgreSQL: reads tell the horizon and settlements their stamp.
    Numbered,
    /// Positions are drawn when a transaction commits, as with one writer in SQLite.
    Ordered,
    /// Positions are drawn when a transaction stages and nothing is known of it, as in MariaDB.
    Unknown,
}

/// A place within the outbox: the key of every table that holds records.
pub(super) type Place = (Lane, Position);

/// Everything that is stored.
#[derive(Debug)]
pub(super) struct State {
    pub(super) lanes: BTreeMap<Lane, Slot>,
    pub(super) rows: BTreeMap<Place, Row>,
    pub(super) dead: BTreeMap<Place, DeadLetter>,
    pub(super) parked_keys: Vec<(KeyRef, RecordRef)>,
    pub(super) parked: BTreeMap<Place, OutboxRecord>,
    pub(super) claims: BTreeMap<Place, Claim>,
    pub(super) workers: HashMap<WorkerId, Sighting>,
    commits: CommitOrder,
    last_position: i64,
    last_number: u64,
    open: BTreeSet<u64>,
}

impl State {
    pub(super) fn new(commits: CommitOrder) -> Self {
        Self {
            lanes: Lane::all().map(|lane| (lane, Slot::default())).collect(),
            rows: BTreeMap::new(),
            dead: BTreeMap::new(),
            parked_keys: Vec::new(),
            parked: BTreeMap::new(),
            claims: BTreeMap::new(),
            workers: HashMap::new(),
            commits,
            last_position: 0,
            last_number: 0,
            open: BTreeSet::new(),
        }
    }

    /// Numbers a transaction at its first insert, before it draws a position.
    pub(super) fn number_for_insert(&mut self, open: Option<u64>) -> u64 {
        open.unwrap_or_else(|| {
            self.last_number += 1;
            self.last_number
        })
    }

    pub(super) fn open(&mut self, number: u64) {
        self.open.insert(number);
    }

    pub(super) fn end(&mut self, number: u64) {
        self.open.remove(&number);
    }

    /// Whether a position is drawn at the insert and not at the commit.
    pub(super) fn draws_early(&self) -> bool {
        self.commits != CommitOrder::Ordered
    }

    pub(super) fn draw_position(&mut self) -> Position {
        self.last_position += 1;
        Position(self.last_position)
    }

    /// Makes a record visible.
    pub(super) fn insert(&mut self, draft: Draft) -> RecordRef {
        let position = draft.position.unwrap_or_else(|| self.draw_position());
        let row = draft.into_row(position);
        let reference = row.record.reference;
        self.rows.insert((reference.lane, position), row);
        reference
    }

    /// What a read that begins now may say of open transactions.
    pub(super) fn mark(&self) -> ReadMark {
        let lowest_open = self.open.first().copied();
        match self.commits {
            CommitOrder::Numbered => ReadMark::Horizon(lowest_open.unwrap_or(self.last_number + 1)),
            CommitOrder::Ordered => ReadMark::Ordered,
            CommitOrder::Unknown => ReadMark::Unknown,
        }
    }

    /// Number of a settlement that ends at once.
    pub(super) fn stamp(&mut self) -> Option<u64> {
        (self.commits == CommitOrder::Numbered).then(|| self.number_for_insert(None))
    }

    pub(super) fn is_parked(&self, key: &KeyRef) -> bool {
        self.parked_keys.iter().any(|(parked, _)| parked == key)
    }
}

/// One record of the hot table.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) record: OutboxRecord,
    pub(super) created_at: DateTime<Utc>,
    /// Why it cannot be decoded, if so.
    pub(super) damage: Option<String>,
}

impl Row {
    pub(super) fn is_due(&self, now: DateTime<Utc>) -> bool {
        self.record.available_at.is_none_or(|at| at <= now)
    }

    /// From when on it could be sent.
    pub(super) fn due_since(&self) -> DateTime<Utc> {
        self.record.available_at.map_or(self.created_at, |at| at.max(self.created_at))
    }

    /// Where it stands among the rows that waited for an instant, if it is one of them.
    pub(super) fn due_place(&self) -> Option<DuePlace> {
        let position = self.record.reference.position;
        self.record.available_at.map(|available_at| DuePlace { available_at, position })
    }

    pub(super) const fn place(&self) -> Place {
        (self.record.reference.lane, self.record.reference.position)
    }
}

/// A message that was staged and is not visible yet.
#[derive(Debug)]
pub(super) struct Draft {
    message: OutboxMessage,
    created_at: DateTime<Utc>,
    pub(super) position: Option<Position>,
}

impl Draft {
    pub(super) fn new(staged: StagedMessage, now: DateTime<Utc>) -> Self {
        let StagedMessage { mut message, schedule } = staged;
        message.occurred_at = message.occurred_at.trunc_subsecs(6);
        message.deliver_at = match schedule {
            Schedule::Now => None,
            Schedule::After(delay) => Some(later(now, delay)),
            Schedule::At(instant) => Some(instant),
        }
        .map(|instant| instant.trunc_subsecs(6));
        Self { message, created_at: now, position: None }
    }

    fn into_row(self, position: Position) -> Row {
        let lane = self.message.lane();
        let reference = RecordRef { id: self.message.id, lane, position };
        let mut record = OutboxRecord::new(reference, self.message);
        // The delivery time stays as the application said it; this copy is what retries move.
        record.available_at = record.message.deliver_at;
        Row { record, created_at: self.created_at, damage: None }
    }
}

/// A worker and when it was last heard of.
#[derive(Debug)]
pub(super) struct Sighting {
    pub(super) card: WorkerCard,
    pub(super) seen_at: DateTime<Utc>,
}
