//! What each side calls the same thing.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};
use outbox_core::{ClaimToken, LaneLease, LeaseToken, Outcome, Position, RecordRef};

use super::compare::Difference;
use super::sample::serial;

/// A lease, as each side granted it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) reference: LaneLease,
    pub(super) real: LaneLease,
}

/// A record that was found in the database, sent since or not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) reference: RecordRef,
    pub(super) real: RecordRef,
}

/// A record as it was read from both sides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) reference: RecordRef,
    pub(super) real: RecordRef,
    pub(super) revision: i32,
    /// Since when it is due, of one that waited.
    pub(super) due: Option<DateTime<Utc>>,
}

/// The same outcomes in the words of each side.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcomes {
    pub(super) reference: Vec<Outcome>,
    pub(super) real: Vec<Outcome>,
}

/// Positions and tokens of the database in the words of the reference.
#[derive(Debug, Default)]
pub(super) struct Names {
    committed: HashMap<u32, RecordRef>,
    records: BTreeMap<Position, RecordRef>,
    tokens: HashMap<LeaseToken, LeaseToken>,
    claims: HashMap<ClaimToken, ClaimToken>,
}

impl Names {
    /// The reference has committed the messages with these serial numbers.
    pub(super) fn commit(&mut self, serials: &[u32], records: Vec<RecordRef>) {
        assert_eq!(serials.len(), records.len(), "each message becomes a record");
        self.committed.extend(serials.iter().copied().zip(records));
    }

    /// A record of the database, recognised by its payload.
    pub(super) fn record(
        &mut self,
        real: RecordRef,
        payload: &[u8],
    ) -> Result<RecordRef, Difference> {
        let committed = serial(payload).and_then(|serial| self.committed.get(&serial));
        let Some(record) = committed.copied() else {
            return Err(format!("{real:?} was never committed"));
        };
        let before = self.records.insert(real.position, record);
        if before.is_some_and(|before| before != record) {
            return Err(format!("{real:?} stands where {before:?} stood"));
        }
        Ok(RecordRef { position: record.position, ..real })
    }

    /// All records that were ever found, by position.
    pub(super) fn found(&self) -> Vec<Found> {
        let found = |(position, record): (&Position, &RecordRef)| Found {
            reference: *record,
            real: RecordRef { position: *position, ..*record },
        };
        self.records.iter().map(found).collect()
    }

    /// A place of the database, itself if no record was seen there.
    pub(super) fn reference(&self, real: RecordRef) -> RecordRef {
        RecordRef { position: self.position(real.position), ..real }
    }

    /// A position of the database, itself if no record was seen there.
    pub(super) fn position(&self, real: Position) -> Position {
        self.records.get(&real).map_or(real, |record| record.position)
    }

    pub(super) fn grant(&mut self, held: Held) -> Result<(), Difference> {
        match self.tokens.insert(held.real.token, held.reference.token) {
            Some(_) => Err(format!("the token of {:?} is not fresh", held.real)),
            None => Ok(()),
        }
    }

    /// A token of the database, itself if it granted no such lease.
    pub(super) fn token(&self, real: LeaseToken) -> LeaseToken {
        self.tokens.get(&real).copied().unwrap_or(real)
    }

    pub(super) fn lease(&self, real: LaneLease) -> LaneLease {
        LaneLease { token: self.token(real.token), ..real }
    }

    pub(super) fn grant_claim(
        &mut self,
        reference: ClaimToken,
        real: ClaimToken,
    ) -> Result<(), Difference> {
        match self.claims.insert(real, reference) {
            Some(_) => Err(format!("the token {real:?} is not fresh")),
            None => Ok(()),
        }
    }

    /// A token of the database, itself if it granted no such claim.
    pub(super) fn claim(&self, real: ClaimToken) -> ClaimToken {
        self.claims.get(&real).copied().unwrap_or(real)
    }
}
