//! Whether this worker was out of touch with the store.

use std::time::Duration;

use tokio::time::Instant;

/// When the store answered last, and since when it does so regularly.
///
/// A lease that ran out tells of a dead worker only to one who could renew its own meanwhile. When
/// the database was away, or this process stood still, leases ran out because nobody renewed them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contact {
    answered: Instant,
    /// Leases that ran out during a gap have been taken by then.
    trusted_from: Instant,
}

impl Contact {
    /// A worker that starts has missed nothing: the one before it may have died of a record.
    pub(super) const fn new(now: Instant) -> Self {
        Self { answered: now, trusted_from: now }
    }

    /// The store answered.
    pub(super) fn answered(&mut self, now: Instant, lease: Duration) {
        if self.has_gap(now, lease) {
            self.trusted_from = now + lease;
        }
        self.answered = now;
    }

    /// Whether the store has answered at this instant or later.
    pub(super) fn answered_since(&self, then: Instant) -> bool {
        self.answered >= then
    }

    /// Whether a lease that has run out by now tells of its owner.
    pub(super) fn is_steady(&self, now: Instant, lease: Duration) -> bool {
        self.trusted_from <= now && !self.has_gap(now, lease)
    }

    /// Leases are renewed after a third of their time: what keeps one from being renewed until it runs
    /// out lasts longer than half of it.
    fn has_gap(&self, now: Instant, lease: Duration) -> bool {
        now.saturating_duration_since(self.answered) > lease / 2
    }
}
