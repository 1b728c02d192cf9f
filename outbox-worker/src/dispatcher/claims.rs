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
    /// Records whose claim is over and that no read has looked for since, as if they never waited.
    unread: BTreeSet<Position>,
    /// The same among those that waited for an instant: each with the round that will have shown it.
    undue: BTreeMap<Position, u64>,
}

impl Claims {
    pub(super) fn new(claimed: &[ClaimedRecord]) -> Self {
        let now = Instant::now();
        let live = claimed.iter().map(|claim| (claim.position, end(claim, now))).collect();
        Self { live, ..Self::default() }
    }

    /// Takes what the store tells now, and returns whose claims are over: this round will have shown
    /// them.
    pub(super) fn renew(&mut self, claimed: &[ClaimedRecord], round: u64) -> Vec<Position> {
        let told = Self::new(claimed).live;
        let over: Vec<Position> =
            self.live.keys().filter(|position| !told.contains_key(position)).copied().collect();
        self.live = told;
        self.unread.extend(&over);
        self.undue.extend(over.iter().map(|position| (*position, round)));
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

    /// All rounds up to this one have shown all that had waited and was due, but for what is `hidden`.
    pub(super) fn looked_at_due(&mut self, round: u64, hidden: impl Fn(Position) -> bool) {
        self.undue.retain(|position, shown_by| *shown_by > round || hidden(*position));
    }

    /// What was `hidden` until now is shown by this round.
    pub(super) fn look_again(&mut self, round: u64, hidden: impl Fn(Position) -> bool) {
        let again = self.undue.iter_mut().filter(|(position, _)| hidden(**position));
        again.for_each(|(_, shown_by)| *shown_by = round);
    }

    /// Records that a round is still to show.
    pub(super) fn undue(&self) -> impl Iterator<Item = Position> + '_ {
        self.undue.keys().copied()
    }

    /// Records that are claimed.
    pub(super) fn claimed(&self) -> impl Iterator<Item = Position> + '_ {
        self.live.keys().copied()
    }

    /// Whether it is known what became of the record.
    pub(super) fn is_decided(&self, position: Position) -> bool {
        let is_unread = self.unread.contains(&position) || self.undue.contains_key(&position);
        !is_unread && !self.live.contains_key(&position)
    }

    /// Whether no record is claimed.
    pub(super) fn is_empty(&self) -> bool {
        self.live.is_empty()
    }

    /// When the store should be asked again.
    pub(super) fn next_end(&self) -> Option<Instant> {
        // A key that waits for such a record goes on as soon as the store says that it is gone.
        if self.unread.is_empty() && self.undue.is_empty() {
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
