//! Who may send the records of a lane.

use std::time::Duration;

use chrono::{DateTime, Utc};
use outbox_core::{Lane, LaneLease, LeaseRequest, LeaseTime, LeaseToken, WorkerId};

use super::losses::Losses;
use super::state::State;
use crate::clock::later;

/// One row of the lane table.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    pub(super) token: Option<LeaseToken>,
    pub(super) owner: Option<WorkerId>,
    /// End of the lease; of a lane that was given back, the instant of that.
    pub(super) expires_at: Option<DateTime<Utc>>,
    pub(super) losses: Losses,
}

impl Slot {
    pub(super) fn is_live(&self, now: DateTime<Utc>) -> bool {
        self.token.is_some() && self.expires_at.is_some_and(|end| end > now)
    }

    pub(super) fn is_held_under(&self, token: LeaseToken, now: DateTime<Utc>) -> bool {
        self.token == Some(token) && self.is_live(now)
    }

    /// Whether nobody collected it for so long. One that never was leased is an orphan.
    fn is_orphan(&self, after: Duration, now: DateTime<Utc>) -> bool {
        self.expires_at.is_none_or(|free| later(free, after) < now)
    }

    fn grant(&mut self, request: &LeaseRequest, now: DateTime<Utc>) -> LeaseToken {
        let token = LeaseToken::new();
        self.token = Some(token);
        self.owner = Some(request.owner);
        self.expires_at = Some(later(now, request.lease.duration()));
        token
    }
}

impl State {
    pub(super) fn lease(&mut self, request: &LeaseRequest, now: DateTime<Utc>) -> Vec<LaneLease> {
        let mut wanted = request.lanes;
        let mut granted = Vec::new();
        for lane in Lane::all() {
            let slot = &self.lanes[&lane];
            let beyond = request.orphans.is_some_and(|after| slot.is_orphan(after, now));
            let wants = wanted > 0 && !request.except.contains(&lane);
            if slot.is_live(now) || !(wants || beyond) {
                continue;
            }
            wanted -= u8::from(wants);
            let abandoned = self.is_abandoned(lane, request, now);
            let Some(slot) = self.lanes.get_mut(&lane) else { continue };
            slot.losses.take_over(abandoned);
            granted.push(LaneLease { lane, token: slot.grant(request, now) });
        }
        granted
    }

    pub(super) fn renew(
        &mut self,
        leases: &[LaneLease],
        lease: LeaseTime,
        now: DateTime<Utc>,
    ) -> Vec<LaneLease> {
        let extended = later(now, lease.duration());
        let mut renewed = Vec::new();
        for held in leases {
            if let Some(slot) = self.live_slot(held, now) {
                slot.expires_at = slot.expires_at.max(Some(extended));
                renewed.push(*held);
            }
        }
        renewed
    }

    pub(super) fn release(&mut self, leases: &[LaneLease], now: DateTime<Utc>) {
        for held in leases {
            if let Some(slot) = self.live_slot(held, now) {
                *slot = Slot { token: None, owner: None, expires_at: Some(now), ..*slot };
            }
        }
    }

    /// The fence: the lane, if this lease of it is live.
    pub(super) fn live_slot(&mut self, lease: &LaneLease, now: DateTime<Utc>) -> Option<&mut Slot> {
        self.lanes.get_mut(&lease.lane).filter(|slot| slot.is_held_under(lease.token, now))
    }

    /// Who holds a live lease of the lane.
    pub(super) fn lane_owner(&self, lane: Lane, now: DateTime<Utc>) -> Option<WorkerId> {
        self.lanes.get(&lane).filter(|slot| slot.is_live(now))?.owner
    }

    pub(super) fn is_held(&self, lease: &LaneLease, now: DateTime<Utc>) -> bool {
        self.lanes.get(&lease.lane).is_some_and(|slot| slot.is_held_under(lease.token, now))
    }
}
