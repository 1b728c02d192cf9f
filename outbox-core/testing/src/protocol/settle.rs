//! What becomes of records, fenced by the lease of their lane.

use outbox_core::Position;

use super::tables::{Ending, Outcome, Row, Tables};
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

    /// Counts a failed attempt.
    pub(super) fn fail(&mut self, position: Position, now: u8) -> bool {
        let Some(row) = self.rows.get_mut(&position) else { return false };
        row.attempts += 1;
        row.revision += 1;
        row.available_at = Some(now + RETRY);
        true
    }

    /// Puts a dead head and all that is parked behind it back in their places, and frees their key.
    ///
    /// The head begins anew. Each is another than it was, so that no earlier outcome fits it.
    pub(super) fn unpark(&mut self, key: u8) -> bool {
        let Some(head) = self.parked_keys.remove(&key) else { return false };
        if let Some(row) = self.dead.remove(&head) {
            self.put_back(head, Row { attempts: 0, available_at: None, ..row });
        }
        let parked = std::mem::take(&mut self.parked).into_iter();
        let (freed, others): (Vec<_>, Vec<_>) = parked.partition(|(_, row)| row.key == Some(key));
        self.parked.extend(others);
        for (position, row) in freed {
            self.put_back(position, row);
        }
        true
    }

    fn put_back(&mut self, position: Position, row: Row) {
        let raised = u8::from(!self.is(Mutant::RevisionKept));
        self.rows.insert(position, Row { revision: row.revision + raised, ..row });
    }

    fn matches(&self, outcome: &Outcome) -> bool {
        if self.claims.contains_key(&outcome.position) && !self.is(Mutant::ClaimedSettled) {
            // Its claimant may be at it, until the claim is over and deleted.
            return false;
        }
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
            Ending::Failed => return self.fail(position, now),
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
