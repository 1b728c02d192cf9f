//! What becomes of records, fenced by the lease of their lane.

use super::tables::{Ending, Outcome, Tables};
use super::{Mutant, RETRY};

/// What one outcome did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Applied,
    /// The lease is no longer held.
    Lost,
    /// The record is gone, or is not as it was when the attempt began.
    Nothing,
}

impl Tables {
    /// Writes one outcome, if its claim still holds.
    pub(super) fn settle(&mut self, outcome: &Outcome, now: u8) -> Effect {
        let held = self.is_held(outcome.lane, outcome.token, now);
        if !held && !self.is(Mutant::NoFence) {
            return Effect::Lost;
        }
        let found = self.matches(outcome);
        if found && self.apply(outcome, now) { Effect::Applied } else { Effect::Nothing }
    }

    fn matches(&self, outcome: &Outcome) -> bool {
        let blind = match outcome.ending {
            Ending::Failed => self.is(Mutant::CountTwice),
            Ending::Published => self.is(Mutant::LateSuccessAccepted),
            Ending::Dead | Ending::Parked => false,
        };
        let row = self.rows.get(&outcome.position).filter(|row| row.lane == outcome.lane);
        row.is_some_and(|row| blind || row.revision == outcome.revision)
    }

    fn apply(&mut self, outcome: &Outcome, now: u8) -> bool {
        let position = outcome.position;
        match outcome.ending {
            Ending::Dead => {
                let Some(mut row) = self.rows.remove(&position) else { return false };
                row.attempts += 1;
                self.dead.insert(position, row);
                if let Some(key) = row.key.filter(|_| !self.is(Mutant::NoPark)) {
                    self.parked_keys.entry(key).or_insert(position);
                }
            }
            Ending::Failed => {
                let Some(row) = self.rows.get_mut(&position) else { return false };
                row.attempts += 1;
                row.revision += 1;
                row.available_at = Some(now + RETRY);
            }
            Ending::Parked => {
                let key = self.rows.get(&position).and_then(|row| row.key);
                if !key.is_some_and(|key| self.parked_keys.contains_key(&key)) {
                    return false;
                }
                self.parked.extend(self.rows.remove(&position).map(|row| (position, row)));
            }
            Ending::Published => _ = self.rows.remove(&position),
        }
        true
    }
}
