//! How far a lane was read when transactions began to write.

use std::collections::VecDeque;

use outbox_core::Position;

/// Most stamps that are kept. While a transaction is open, none of those that came after its begin can
/// go, and it may be open for hours.
const MOST: usize = 64;

/// Numbers of transactions in ascending order, each with the cursor of the lane before it began to write.
#[derive(Debug, Default)]
pub(super) struct Stamps(VecDeque<(u64, Position)>);

impl Stamps {
    /// A transaction with this number began to write after `cursor` had been read.
    pub(super) fn add(&mut self, number: u64, cursor: Position) {
        if self.0.back().is_some_and(|(_, last)| cursor <= *last) {
            return;
        }
        self.0.push_back((number, cursor));
        if self.0.len() > MOST {
            self.thin_out();
        }
    }

    /// The last cursor below which no transaction is open; a stamp stays until all below its cursor
    /// was seen.
    pub(super) fn decided_below(&mut self, horizon: u64, seen: Position) -> Option<Position> {
        let mut decided = None;
        while let Some((number, cursor)) = self.0.front()
            && *number <= horizon
        {
            decided = Some(*cursor);
            if *cursor > seen {
                break;
            }
            self.0.pop_front();
        }
        decided
    }

    /// Lets go of every other one. Each says what it says without the others, so the floor only takes
    /// longer steps.
    fn thin_out(&mut self) {
        let mut stays = false;
        self.0.retain(|_| {
            stays = !stays;
            stays
        });
    }
}
