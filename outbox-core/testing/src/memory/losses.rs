//! What is remembered of workers that died with a lane.

use chrono::{DateTime, Utc};
use outbox_core::{
    Lane, LaneLease, LeaseRequest, Outcome, OutcomeKind, Position, RecordRef, Suspect,
};

use super::state::State;

/// The part of a lane's row that is about deaths.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    /// How often the lane was taken over from a worker that may have died of it.
    pub(super) abandoned: u32,
    pub(super) suspect: Option<Suspect>,
    /// Whether the owner is sending the suspect, so that its death is counted against it.
    marked: bool,
}

impl Losses {
    /// The mark was the former owner's.
    pub(super) fn take_over(&mut self, abandoned: bool) {
        if abandoned {
            self.abandoned += 1;
        }
        if let Some(suspect) = self.suspect.as_mut().filter(|_| self.marked && abandoned) {
            suspect.deaths += 1;
        }
        self.marked = false;
    }

    fn mark(&mut self, position: Position) {
        let known = self.suspect.filter(|suspect| suspect.position == position);
        self.suspect = known.or(Some(Suspect { position, deaths: 0 }));
        self.marked = true;
    }
}

impl State {
    /// Whether whoever had the lane may have died of a record in it.
    pub(super) fn is_abandoned(
        &self,
        lane: Lane,
        request: &LeaseRequest,
        now: DateTime<Utc>,
    ) -> bool {
        let slot = &self.lanes[&lane];
        let ran_out = slot.token.is_some() && slot.owner != Some(request.owner);
        let of_lane = (lane, Position(i64::MIN))..=(lane, Position(i64::MAX));
        let has_due = || self.rows.range(of_lane).any(|(_, row)| row.is_due(now));
        request.counts_abandoned && ran_out && has_due()
    }

    pub(super) fn mark_suspect(
        &mut self,
        lease: &LaneLease,
        record: Option<RecordRef>,
        now: DateTime<Utc>,
    ) -> bool {
        let Some(slot) = self.live_slot(lease, now) else { return false };
        match record {
            Some(record) => slot.losses.mark(record.position),
            None => slot.losses.marked = false,
        }
        true
    }

    /// The lane can be sent from. Parking tells nothing of that: it is no attempt.
    pub(super) fn clear_losses(&mut self, outcome: &Outcome) {
        if let Some(slot) = self.lanes.get_mut(&outcome.record.lane)
            && !matches!(outcome.kind, OutcomeKind::Parked)
        {
            slot.losses = Losses::default();
        }
    }
}
