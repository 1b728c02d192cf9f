//! The tables of the model: lanes, records and the application's open transactions.

use std::collections::{BTreeMap, BTreeSet};

use outbox_core::Position;

use super::claim::ClaimRow;
use super::{LEASE, Mutant};
use crate::CommitOrder;

/// Everything that is stored, by position where it is a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tables {
    /// The lane table.
    pub lanes: Vec<Slot>,
    /// Records that are to be sent.
    pub rows: BTreeMap<Position, Row>,
    /// Dead letters.
    pub dead: BTreeMap<Position, Row>,
    /// Records that wait behind a dead head.
    pub parked: BTreeMap<Position, Row>,
    /// Keys whose head is dead, each with that head.
    pub parked_keys: BTreeMap<u8, Position>,
    /// Single records that somebody claimed.
    pub claims: BTreeMap<Position, ClaimRow>,
    /// Transactions of the application, by number.
    pub open: BTreeMap<u64, Open>,
    pub(super) mutant: Option<Mutant>,
    commits: CommitOrder,
    last_position: i64,
    last_number: u64,
    last_token: u8,
    last_claim_token: u8,
}

/// One lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Slot {
    /// Who leased it last, unless it was given back.
    pub holder: Option<Holder>,
}

/// A lease as the database knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Holder {
    /// Its token.
    pub token: u8,
    /// The worker that asked for it.
    pub owner: u8,
    /// It is live while this lies ahead.
    pub expires_at: u8,
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// Its lane.
    pub lane: u8,
    /// Its ordering key, if it is ordered.
    pub key: Option<u8>,
    /// Raised by every settlement that keeps the record.
    pub revision: u8,
    /// Recorded failures.
    pub attempts: u8,
    /// When it is due again, once it has failed.
    pub available_at: Option<u8>,
}

/// A record to be staged. A key is in one lane only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Draft {
    /// Its lane.
    pub lane: u8,
    /// Its ordering key, if it is ordered.
    pub key: Option<u8>,
}

/// A transaction of the application with its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Open {
    /// The record.
    pub draft: Draft,
    /// Its position, where that is drawn before the commit.
    pub position: Option<Position>,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is the kind of outcome with its name")]
pub enum Ending {
    Dead,
    Failed,
    Parked,
    Published,
}

/// How an attempt ended, with the claim that proves the right to say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Outcome {
    /// The record's lane.
    pub lane: u8,
    /// The record.
    pub position: Position,
    /// Token of the lease under which it was sent.
    pub token: u8,
    /// Revision under which it was read.
    pub revision: u8,
    /// How it ended.
    pub ending: Ending,
}

/// What the owner of a lane is told, apart from its records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Told {
    /// Records under a live claim, each with its key.
    pub(super) claimed: BTreeMap<Position, Option<u8>>,
    /// Keys whose head is dead.
    pub(super) parked: BTreeSet<u8>,
    /// Failed records that their keys wait for.
    pub(super) waiting: BTreeSet<(u8, Position)>,
}

impl Told {
    /// Records that later ones of their key wait for. A claim keeps no order, but what the owner sends
    /// does.
    pub(super) fn awaited(&self) -> BTreeSet<(u8, Position)> {
        let claimed = self.claimed.iter().filter_map(|(at, key)| Some(((*key)?, *at)));
        self.waiting.iter().copied().chain(claimed).collect()
    }
}

/// What a read says about open transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// Transactions with a lower number had ended.
    Horizon(u64),
    /// Positions are committed in order.
    Ordered,
    /// Nothing is known.
    Unknown,
}

impl Slot {
    /// The lease, if it is live.
    pub fn live(&self, now: u8) -> Option<Holder> {
        self.holder.filter(|holder| holder.expires_at > now)
    }
}

impl Row {
    pub(super) fn is_due(self, now: u8) -> bool {
        self.available_at.is_none_or(|at| at <= now)
    }
}

impl Tables {
    pub(super) fn new(commits: CommitOrder, lanes: u8, mutant: Option<Mutant>) -> Self {
        Self {
            lanes: vec![Slot::default(); usize::from(lanes)],
            rows: BTreeMap::new(),
            dead: BTreeMap::new(),
            parked: BTreeMap::new(),
            parked_keys: BTreeMap::new(),
            claims: BTreeMap::new(),
            open: BTreeMap::new(),
            mutant,
            commits,
            last_position: 0,
            last_number: 0,
            last_token: 0,
            last_claim_token: 0,
        }
    }

    /// Opens a transaction; its number is drawn before its position.
    pub(super) fn stage(&mut self, draft: Draft) {
        let number = self.draw_number();
        let early = self.commits != CommitOrder::Ordered;
        let position = early.then(|| self.draw_position());
        self.open.insert(number, Open { draft, position });
    }

    pub(super) fn commit(&mut self, number: u64) -> bool {
        let Some(Open { draft, position }) = self.open.remove(&number) else { return false };
        let position = position.unwrap_or_else(|| self.draw_position());
        let Draft { lane, key } = draft;
        self.rows.insert(position, Row { lane, key, revision: 0, attempts: 0, available_at: None });
        true
    }

    /// Leases lanes that nobody holds, each under a fresh token.
    pub(super) fn lease(&mut self, owner: u8, lanes: u8, now: u8) -> Vec<(u8, u8)> {
        let mut granted = Vec::new();
        for lane in 0..u8::try_from(self.lanes.len()).unwrap_or(u8::MAX) {
            let live = self.is_leased(lane, now) && !self.is(Mutant::ExpiryIgnored);
            if live || granted.len() == usize::from(lanes) {
                continue;
            }
            let token = self.draw_token();
            let holder = Holder { token, owner, expires_at: now + LEASE };
            self.lanes[usize::from(lane)].holder = Some(holder);
            granted.push((lane, token));
        }
        granted
    }

    /// Extends a live lease, and never shortens it.
    pub(super) fn renew(&mut self, lane: u8, token: u8, now: u8) -> bool {
        if !self.is_held(lane, token, now) {
            return false;
        }
        if let Some(holder) = &mut self.lanes[usize::from(lane)].holder {
            holder.expires_at = holder.expires_at.max(now + LEASE);
        }
        true
    }

    /// Gives back a live lease.
    pub(super) fn release(&mut self, lane: u8, token: u8, now: u8) {
        if self.is_held(lane, token, now) {
            self.lanes[usize::from(lane)].holder = None;
        }
    }

    /// Due records of a lane. The floor hides only those that were due from the start.
    pub fn read(
        &self,
        lane: u8,
        floor: Position,
        known: &BTreeSet<Position>,
        now: u8,
    ) -> BTreeMap<Position, Row> {
        let visible = |position: Position, row: &Row| {
            row.lane == lane
                && row.is_due(now)
                && (row.available_at.is_some() || position > floor)
                && !known.contains(&position)
        };
        let rows = self.rows.iter().filter(|(position, row)| visible(**position, row));
        rows.map(|(position, row)| (*position, *row)).collect()
    }

    pub(super) fn mark(&self) -> Mark {
        match self.commits {
            CommitOrder::Numbered => {
                let lowest_open = self.open.first_key_value().map(|(number, _)| *number);
                Mark::Horizon(lowest_open.unwrap_or(self.last_number + 1))
            }
            CommitOrder::Ordered => Mark::Ordered,
            CommitOrder::Unknown => Mark::Unknown,
        }
    }

    /// What the owner of a lane must know before it reads.
    pub(super) fn acquired(&mut self, lane: u8, now: u8) -> Told {
        let claimed = self.clear_claims(lane, now);
        let key = |position: &Position| self.rows.get(position).and_then(|row| row.key);
        Told {
            claimed: claimed.into_iter().map(|position| (position, key(&position))).collect(),
            parked: self.parked_in(lane).collect(),
            waiting: self.waiting(lane).collect(),
        }
    }

    /// Failed records of ordered keys, which their keys wait for.
    pub fn waiting(&self, lane: u8) -> impl Iterator<Item = (u8, Position)> + '_ {
        let failed = self.rows.iter().filter(move |(_, row)| row.lane == lane && row.attempts > 0);
        failed.filter_map(|(position, row)| Some((row.key?, *position)))
    }

    /// Keys of a lane whose head is dead.
    pub fn parked_in(&self, lane: u8) -> impl Iterator<Item = u8> + '_ {
        let in_lane =
            move |head: &Position| self.dead.get(head).is_some_and(|row| row.lane == lane);
        self.parked_keys.iter().filter(move |(_, head)| in_lane(head)).map(|(key, _)| *key)
    }

    pub(super) fn is_leased(&self, lane: u8, now: u8) -> bool {
        self.slot(lane).live(now).is_some()
    }

    /// The fence.
    pub(super) fn is_held(&self, lane: u8, token: u8, now: u8) -> bool {
        self.slot(lane).live(now).is_some_and(|holder| holder.token == token)
    }

    /// Number of a settlement that ends at once, where there are numbers.
    pub(super) fn stamp(&mut self) -> Option<u64> {
        (self.commits == CommitOrder::Numbered).then(|| self.draw_number())
    }

    pub(super) fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// A lane that does not exist is held by nobody.
    fn slot(&self, lane: u8) -> Slot {
        self.lanes.get(usize::from(lane)).copied().unwrap_or_default()
    }

    fn draw_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    fn draw_position(&mut self) -> Position {
        self.last_position += 1;
        Position(self.last_position)
    }

    pub(super) const fn draw_claim_token(&mut self) -> u8 {
        self.last_claim_token += 1;
        self.last_claim_token
    }

    fn draw_token(&mut self) -> u8 {
        if !self.is(Mutant::TokenReused) {
            self.last_token += 1;
        }
        self.last_token
    }
}
