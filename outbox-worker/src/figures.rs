//! What a dispatcher has done so far.

use std::sync::atomic::{AtomicU64, Ordering};

use outbox_core::FailureKind;

use crate::metrics::{Measurement, OutboxMetrics};

/// Counters of one dispatcher, growing from zero at its start.
#[derive(Debug, Default)]
pub struct Figures {
    published: AtomicU64,
    dead: AtomicU64,
    parked: AtomicU64,
    ambiguous: AtomicU64,
    credentials: AtomicU64,
    destination: AtomicU64,
    message: AtomicU64,
    throttled: AtomicU64,
    transient: AtomicU64,
    lanes_lost: AtomicU64,
    outcomes_lost: AtomicU64,
}

impl Figures {
    /// Records that the broker took and whose settlement is written.
    pub fn published(&self) -> u64 {
        self.published.load(Ordering::Relaxed)
    }

    /// Records that became dead letters.
    pub fn dead(&self) -> u64 {
        self.dead.load(Ordering::Relaxed)
    }

    /// Records that were parked behind a dead one of their key.
    pub fn parked(&self) -> u64 {
        self.parked.load(Ordering::Relaxed)
    }

    /// Failed sends of this kind.
    pub fn failed(&self, kind: FailureKind) -> u64 {
        self.of(kind).load(Ordering::Relaxed)
    }

    /// Lanes that were taken over by another worker while this one held records of them.
    pub fn lanes_lost(&self) -> u64 {
        self.lanes_lost.load(Ordering::Relaxed)
    }

    /// Outcomes that could not be written in time: their records are sent again.
    pub fn outcomes_lost(&self) -> u64 {
        self.outcomes_lost.load(Ordering::Relaxed)
    }

    const fn of(&self, kind: FailureKind) -> &AtomicU64 {
        match kind {
            FailureKind::Ambiguous => &self.ambiguous,
            FailureKind::Credentials => &self.credentials,
            FailureKind::Destination => &self.destination,
            FailureKind::Message => &self.message,
            FailureKind::Throttled => &self.throttled,
            FailureKind::Transient => &self.transient,
        }
    }
}

impl OutboxMetrics for Figures {
    fn measure(&self, measurement: &Measurement<'_>) {
        let counter = match *measurement {
            Measurement::Dead { .. } => &self.dead,
            Measurement::Failed { kind, .. } => self.of(kind),
            Measurement::LaneLost => &self.lanes_lost,
            Measurement::OutcomeLost => &self.outcomes_lost,
            Measurement::Parked => &self.parked,
            Measurement::Published => &self.published,
            _ => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}
