//! Single records under claims of their own.

use std::collections::BTreeSet;

use outbox_core::Position;

use super::action::{ClaimCall, Refusal};
use super::state::State;
use super::tables::{Row, Tables};
use super::{LEASE, Mutant};

/// The right to send one record, as whoever claimed it knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Claim {
    /// The record's lane.
    pub lane: u8,
    /// The record.
    pub position: Position,
    /// Token of the claim.
    pub token: u8,
    /// Revision under which the record was claimed.
    pub revision: u8,
}

/// A claim as the database knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClaimRow {
    /// The record's lane.
    pub lane: u8,
    /// Its token.
    pub token: u8,
    /// It is live while this lies ahead.
    pub expires_at: u8,
}

/// What a claimant remembers of its claim. It never forgets one, and may come back to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Claimant {
    /// Until when it believes to have the right to send.
    pub deadline: u8,
    /// Whether the broker took the record from it.
    pub sent: bool,
}

impl ClaimRow {
    /// Whether it gives any right.
    pub const fn is_live(&self, now: u8) -> bool {
        self.expires_at > now
    }
}

impl Claimant {
    /// Whoever said how the attempt ended sends nothing more under this claim.
    const fn stop(&mut self) {
        self.deadline = 0;
    }
}

impl State {
    pub(super) fn claim(&mut self, lane: u8, position: Position) -> Result<(), Refusal> {
        let claim = self.tables.try_claim(lane, position, self.now)?;
        self.claimants.insert(claim, Claimant { deadline: self.now + LEASE, sent: false });
        Ok(())
    }

    /// A call under a claim that is over is possible, and changes no table.
    pub(super) fn call_claim(&mut self, claim: &Claim, call: ClaimCall) -> Result<(), Refusal> {
        let now = self.now;
        let claimant = self.claimants.get_mut(claim).ok_or(Refusal::Nothing)?;
        match call {
            ClaimCall::Complete if !claimant.sent => return Err(Refusal::NotSent),
            ClaimCall::Complete => {
                self.tables.complete_claim(claim, now);
                claimant.stop();
            }
            ClaimCall::Fail => {
                self.tables.fail_claim(claim, now);
                claimant.stop();
            }
            ClaimCall::Renew => {
                if self.tables.renew_claim(claim, now) {
                    claimant.deadline = now + LEASE;
                }
            }
            ClaimCall::Send if claimant.sent => return Err(Refusal::Nothing),
            ClaimCall::Send if claimant.deadline <= now => return Err(Refusal::LeaseTooShort),
            ClaimCall::Send => claimant.sent = true,
        }
        Ok(())
    }
}

impl Tables {
    fn try_claim(&mut self, lane: u8, position: Position, now: u8) -> Result<Claim, Refusal> {
        let revision = self.claimable(lane, position, now)?.revision;
        let token = self.draw_claim_token();
        self.claims.insert(position, ClaimRow { lane, token, expires_at: now + LEASE });
        Ok(Claim { lane, position, token, revision })
    }

    /// The record, if nothing stands in the way.
    fn claimable(&self, lane: u8, position: Position, now: u8) -> Result<Row, Refusal> {
        if self.is_leased(lane, now) && !self.is(Mutant::ClaimBesideLease) {
            return Err(Refusal::LaneLeased);
        }
        if self.parked.get(&position).is_some_and(|row| row.lane == lane) {
            return Err(Refusal::Parked);
        }
        let row = self.rows.get(&position).filter(|row| row.lane == lane);
        let row = *row.ok_or(Refusal::Nothing)?;
        if row.key.is_some_and(|key| self.parked_keys.contains_key(&key)) {
            return Err(Refusal::Parked);
        }
        if !row.is_due(now) {
            return Err(Refusal::NotDue);
        }
        let claimed = self.claims.get(&position).is_some_and(|claim| claim.is_live(now));
        if claimed { Err(Refusal::Claimed) } else { Ok(row) }
    }

    fn renew_claim(&mut self, claim: &Claim, now: u8) -> bool {
        if !self.is_claimed_by(claim, now) {
            return false;
        }
        if let Some(row) = self.claims.get_mut(&claim.position) {
            row.expires_at = row.expires_at.max(now + LEASE);
        }
        true
    }

    fn complete_claim(&mut self, claim: &Claim, now: u8) {
        if self.is_claimed_by(claim, now) {
            self.claims.remove(&claim.position);
            self.rows.remove(&claim.position);
        }
    }

    fn fail_claim(&mut self, claim: &Claim, now: u8) {
        if self.is_claimed_by(claim, now) {
            self.claims.remove(&claim.position);
            self.fail(claim.position, now);
        }
    }

    /// Claims in a lane that its owner asks about. Those that are over are deleted, so that an owner
    /// who sends such a record has nothing to fear from its claimant.
    pub(super) fn clear_claims(&mut self, lane: u8, now: u8) -> BTreeSet<Position> {
        self.claims.retain(|_, claim| claim.lane != lane || claim.is_live(now));
        if self.is(Mutant::ClaimsUntold) || self.is(Mutant::ClaimedSettled) {
            return BTreeSet::new();
        }
        self.claimed_in(lane).collect()
    }

    /// Records of a lane that are under a claim, or were until nobody has looked since.
    pub fn claimed_in(&self, lane: u8) -> impl Iterator<Item = Position> + '_ {
        let in_lane = self.claims.iter().filter(move |(_, claim)| claim.lane == lane);
        in_lane.map(|(position, _)| *position)
    }

    /// The fence: the claim, if it is this one, live, and its record as it was.
    fn is_claimed_by(&self, claim: &Claim, now: u8) -> bool {
        let row = self.rows.get(&claim.position).filter(|row| row.lane == claim.lane);
        let held = self.claims.get(&claim.position);
        row.is_some_and(|row| row.revision == claim.revision)
            && (held.is_some_and(|held| held.token == claim.token && held.is_live(now))
                || self.is(Mutant::StaleClaimTaken))
    }
}
