//! Records of a lane that others hold by claims of their own.

use std::collections::{BTreeMap, BTreeSet};

use outbox_core::{ClaimedRecord, Position};
use tokio::time::Instant;

/// What is known of the claims in one lane. None is added while the lane is leased.
///
/// A claimed record is left out of reads. Once the store tells its claim no more, the record is read
/// anew: it may be gone, wait for another attempt, or be there under another revision.
#[derive(Debug, Default)]
pub(super) struct Claims {
    /// When each claim should be over, by this process's clock. Only the store knows.
    live: BTreeMap<Position, Instant>,
    /// Records whose claim is over and that no read has looked for since.
    unread: BTreeSet<Position>,
}

impl Claims {
    pub(super) fn new(claimed: &[ClaimedRecord]) -> Self {
        let now = Instant::now();
        let live = claimed.iter().map(|claim| (claim.position, end(claim, now))).collect();
        Self { live, unread: BTreeSet::new() }
    }

    /// Takes what the store tells now, and returns whose claims are over.
    pub(super) fn renew(&mut self, claimed: &[ClaimedRecord]) -> Vec<Position> {
        let told = Self::new(claimed).live;
        let over: Vec<Position> =
            self.live.keys().filter(|position| !told.contains_key(position)).copied().collect();
        self.live = told;
        self.unread.extend(&over);
        over
    }

    /// A read from this position on has shown all that is due up to `seen`, but for what is `hidden`.
    pub(super) fn looked(
        &mut self,
        from: Position,
        seen: Position,
        hidden: impl Fn(Position) -> bool,
    ) {
        self.unread.retain(|position| *position <= from || *position > seen || hidden(*position));
    }

    /// Records that are claimed.
    pub(super) fn claimed(&self) -> impl Iterator<Item = Position> + '_ {
        self.live.keys().copied()
    }

    /// Whether it is known what became of the record.
    pub(super) fn is_decided(&self, position: Position) -> bool {
        !self.live.contains_key(&position) && !self.unread.contains(&position)
    }

    /// Whether no record is claimed.
    pub(super) fn is_empty(&self) -> bool {
        self.live.is_empty()
    }

    /// When the store should be asked again.
    pub(super) fn next_end(&self) -> Option<Instant> {
        // A key that waits for such a record goes on as soon as the store says that it is gone.
        if self.unread.is_empty() {
            self.live.values().min().copied()
        } else {
            Some(Instant::now())
        }
    }
}

/// A claim may last beyond any calendar.
fn end(claim: &ClaimedRecord, now: Instant) -> Instant {
    now + claim.ends_in.min(super::settle::LATEST)
}
