//! Figures of the whole outbox, for whoever listens.

use std::sync::Arc;

use outbox_core::{OutboxStats, StoreError};
use tokio::time::Instant;

use super::desk::{Answer, Desk, Running, bounded};
use crate::chain::Chain;
use crate::metrics::Measurement;

impl Desk {
    /// Counts now and then, and only if somebody listens.
    pub(super) fn start_counting(&mut self, now: Instant) {
        let counts = self.running.values().any(|work| matches!(work, Running::Count));
        if self.parts.metrics.is_none() || counts || now < self.count_at {
            return;
        }
        self.count_at = now + self.parts.settings.stats_interval;
        let store = Arc::clone(&self.parts.store);
        let limit = self.parts.settings.store_timeout;
        self.spawn(Running::Count, tracing::info_span!("outbox.stats"), async move {
            Answer::Counted(bounded(limit, store.stats()).await)
        });
    }

    /// Figures that cannot be had are told as such, never as zero.
    pub(super) fn take_counted(&self, answer: Option<Result<OutboxStats, StoreError>>) {
        let stats = match answer {
            Some(Ok(stats)) => stats,
            Some(Err(error)) => {
                tracing::debug!(error = %Chain(&error), "the outbox cannot be counted");
                OutboxStats::UNAVAILABLE
            }
            None => OutboxStats::UNAVAILABLE,
        };
        self.parts.measure(&Measurement::Stats(&stats));
    }
}
