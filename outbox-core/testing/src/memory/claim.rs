//! Who may send a single record, outside of a lane's lease.

use std::time::Duration;

use chrono::{DateTime, Utc};
use outbox_core::{
    ClaimRefused, ClaimToken, ClaimedRecord, Failure, Lane, LeaseTime, Position, RecordClaim,
    RecordRef, WorkerId,
};

use super::settle::fail;
use super::state::{Place, Row, State};
use crate::clock::{between, later};

/// One row of the claim table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    pub(super) record: RecordRef,
    pub(super) token: ClaimToken,
    pub(super) owner: WorkerId,
    pub(super) expires_at: DateTime<Utc>,
}

impl Claim {
    fn is_live(&self, now: DateTime<Utc>) -> bool {
        self.expires_at > now
    }
}

impl State {
    pub(super) fn try_claim(
        &mut self,
        record: &RecordRef,
        owner: WorkerId,
        lease: LeaseTime,
        now: DateTime<Utc>,
    ) -> Result<RecordClaim, ClaimRefused> {
        let revision = self.claimable(record, now)?.record.revision;
        let token = ClaimToken::new();
        let expires_at = later(now, lease.duration());
        let claim = Claim { record: *record, token, owner, expires_at };
        self.claims.insert(place(record), claim);
        Ok(RecordClaim { record: *record, token, revision })
    }

    /// The record's row, if nothing stands in the way.
    fn claimable(&self, record: &RecordRef, now: DateTime<Utc>) -> Result<&Row, ClaimRefused> {
        if let Some(owner) = self.lane_owner(record.lane, now) {
            return Err(ClaimRefused::LaneLeased { owner });
        }
        let place = place(record);
        if self.parked.get(&place).is_some_and(|parked| parked.reference == *record) {
            return Err(ClaimRefused::Parked);
        }
        let row = self.rows.get(&place).filter(|row| row.record.reference == *record);
        let row = row.ok_or(ClaimRefused::Absent)?;
        if row.record.key().is_some_and(|key| self.is_parked(&key)) {
            return Err(ClaimRefused::Parked);
        }
        if !row.is_due(now) {
            return Err(ClaimRefused::NotDue);
        }
        match self.claims.get(&place).filter(|claim| claim.is_live(now)) {
            Some(claim) => Err(ClaimRefused::Claimed { owner: claim.owner }),
            None => Ok(row),
        }
    }

    pub(super) fn renew_claim(
        &mut self,
        claim: &RecordClaim,
        lease: LeaseTime,
        now: DateTime<Utc>,
    ) -> bool {
        let Some(held) = self.live_claim(claim, now) else { return false };
        held.expires_at = held.expires_at.max(later(now, lease.duration()));
        true
    }

    pub(super) fn complete_claim(&mut self, claim: &RecordClaim, now: DateTime<Utc>) -> bool {
        if !self.end_claim(claim, now) {
            return false;
        }
        self.rows.remove(&place(&claim.record));
        true
    }

    pub(super) fn fail_claim(
        &mut self,
        claim: &RecordClaim,
        failure: &Failure,
        delay: Duration,
        now: DateTime<Utc>,
    ) -> bool {
        if !self.end_claim(claim, now) {
            return false;
        }
        if let Some(row) = self.rows.get_mut(&place(&claim.record)) {
            fail(row, failure, delay, now);
        }
        true
    }

    /// Claims in a lane that was leased. Those that are over are deleted first, so that an owner who
    /// sends such a record has nothing to fear from its claimant.
    pub(super) fn clear_claims(&mut self, lane: Lane, now: DateTime<Utc>) -> Vec<ClaimedRecord> {
        let of_lane = (lane, Position(i64::MIN))..=(lane, Position(i64::MAX));
        self.claims.retain(|place, claim| !of_lane.contains(place) || claim.is_live(now));
        let claimed = |(place, claim): (&Place, &Claim)| ClaimedRecord {
            position: place.1,
            key: self.rows.get(place).and_then(|row| row.record.key()),
            ends_in: between(now, claim.expires_at),
        };
        self.claims.range(of_lane).map(claimed).collect()
    }

    /// Ends a claim that still gives the right to settle its record.
    fn end_claim(&mut self, claim: &RecordClaim, now: DateTime<Utc>) -> bool {
        let place = place(&claim.record);
        self.live_claim(claim, now).is_some() && self.claims.remove(&place).is_some()
    }

    /// The fence: the claim, if it is this one, live, and the record as it was.
    fn live_claim(&mut self, claim: &RecordClaim, now: DateTime<Utc>) -> Option<&mut Claim> {
        let place = place(&claim.record);
        let record = &self.rows.get(&place)?.record;
        if record.reference != claim.record || record.revision != claim.revision {
            return None;
        }
        let held = self.claims.get_mut(&place)?;
        (held.token == claim.token && held.is_live(now)).then_some(held)
    }
}

const fn place(record: &RecordRef) -> Place {
    (record.lane, record.position)
}
