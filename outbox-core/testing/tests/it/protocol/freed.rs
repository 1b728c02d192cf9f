//! What an onlooker sees of keys that an operator frees.

use outbox_testing::protocol::{Action, State};

use super::history::{History, Promise};

impl History {
    /// Records that came back and were not sent since go first, in order of position. What was said of
    /// them before is out of date.
    pub(super) fn follow_freed(&mut self, before: &State, action: &Action, after: &State) {
        let rows = &after.tables.rows;
        match action {
            // A claim keeps no order.
            Action::Claim { position, .. } => _ = self.freed.remove(position),
            Action::Late(outcome) if self.outdated.remove(outcome) => {
                let at = &outcome.position;
                if before.tables.rows.get(at) != rows.get(at) {
                    self.broken.insert(Promise::EarlierAttemptChangesNothing);
                }
            }
            Action::Send { position, .. } => {
                let key = self.fate(*position).key;
                let mut earlier = self.freed.range(..position);
                if key.is_some() && earlier.any(|at| rows.get(at).is_some_and(|row| row.key == key))
                {
                    self.broken.insert(Promise::FreedGoInOrder);
                }
                self.freed.remove(position);
            }
            Action::Unpark { .. } => {
                let there = &before.tables.rows;
                self.freed.extend(rows.keys().filter(|at| !there.contains_key(at)));
                let freed = &self.freed;
                let earlier = before.late.iter().filter(|it| freed.contains(&it.position));
                self.outdated.extend(earlier);
            }
            _ => {}
        }
        self.freed.retain(|at| rows.contains_key(at));
    }
}
