//! What becomes of records, fenced by the lease of their lane.

use std::time::Duration;

use chrono::{DateTime, Utc};
use outbox_core::{
    DeadReason, Failure, FailureKind, LaneLease, LostLane, Outcome, OutcomeKind, Settled,
    StoreError, StoreErrorKind,
};

use super::inspect::DeadLetter;
use super::state::{Place, Row, State};
use crate::clock::later;

impl State {
    pub(super) fn settle(
        &mut self,
        outcomes: &[Outcome],
        now: DateTime<Utc>,
    ) -> Result<Settled, StoreError> {
        outcomes.iter().try_for_each(check)?;
        let mut settled = Settled::default();
        for outcome in outcomes {
            let lease = LaneLease { lane: outcome.record.lane, token: outcome.token };
            if !self.is_held(&lease, now) {
                let lost = LostLane { lane: lease.lane, token: lease.token };
                if !settled.lost.contains(&lost) {
                    settled.lost.push(lost);
                }
            } else if self.apply(outcome, now) {
                self.clear_losses(outcome);
                settled.applied.push(outcome.record);
            }
        }
        settled.stamp = self.stamp();
        Ok(settled)
    }

    /// Whether the outcome found its record, as it was when the attempt began.
    fn apply(&mut self, outcome: &Outcome, now: DateTime<Utc>) -> bool {
        let place = (outcome.record.lane, outcome.record.position);
        if self.claims.contains_key(&place) {
            // Its claimant may be at it, until the claim is over and deleted.
            return false;
        }
        let Some(row) = self.rows.get_mut(&place).filter(|row| matches(row, outcome)) else {
            return false;
        };
        match &outcome.kind {
            OutcomeKind::Dead { reason, error, parks_key } => {
                self.bury(place, *reason, error, *parks_key, now);
            }
            OutcomeKind::Failed { failure, delay } => fail(row, failure, *delay, now),
            OutcomeKind::Parked => return self.park(place),
            OutcomeKind::Published => _ = self.rows.remove(&place),
        }
        true
    }

    fn bury(
        &mut self,
        place: Place,
        reason: DeadReason,
        error: &str,
        parks_key: bool,
        now: DateTime<Utc>,
    ) {
        let Some(Row { mut record, .. }) = self.rows.remove(&place) else { return };
        if let Some(key) = record.key().filter(|key| parks_key && !self.is_parked(key)) {
            self.parked_keys.push((key, record.reference));
        }
        // Cut and cleaned as any stored summary.
        let error = Failure::new(FailureKind::Message, error).summary().to_owned();
        // What killed it counts as a failure of it, unless it could not even be tried.
        record.attempts += u32::from(reason != DeadReason::Undecodable);
        record.first_failed_at = record.first_failed_at.or(Some(now));
        record.last_error = Some(error.clone());
        self.dead.insert(place, DeadLetter { record, reason, error, died_at: now });
    }

    /// Moves a record behind its dead head, unless an operator has freed the key meanwhile.
    fn park(&mut self, place: Place) -> bool {
        let key = self.rows.get(&place).and_then(|row| row.record.key());
        if !key.is_some_and(|key| self.is_parked(&key)) {
            return false;
        }
        if let Some(row) = self.rows.remove(&place) {
            self.parked.insert(place, row.record);
        }
        true
    }
}

fn check(outcome: &Outcome) -> Result<(), StoreError> {
    match &outcome.kind {
        OutcomeKind::Dead { error, .. } if error.trim().is_empty() => Err(StoreError::new(
            StoreErrorKind::InvalidArgument,
            "a dead letter needs an error text",
        )),
        _ => Ok(()),
    }
}

fn matches(row: &Row, outcome: &Outcome) -> bool {
    row.record.reference == outcome.record && row.record.revision == outcome.revision
}

/// Counts a failed attempt.
pub(super) fn fail(row: &mut Row, failure: &Failure, delay: Duration, now: DateTime<Utc>) {
    let record = &mut row.record;
    record.attempts += 1;
    record.revision += 1;
    record.first_failed_at = record.first_failed_at.or(Some(now));
    record.available_at = Some(later(now, delay));
    record.last_error = Some(failure.summary().to_owned());
}
