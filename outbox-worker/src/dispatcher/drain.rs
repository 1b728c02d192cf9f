//! Ending in order.

use std::time::Duration;

use outbox_core::{LaneLease, WorkerCard};
use tokio::time::Instant;

use super::desk::{Desk, Running, bounded};

/// How a dispatcher ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// Records whose send did not end in time: they are sent again (DRAIN).
    pub unresolved: usize,
    /// Outcomes that were not written in time: their records are sent again (OUTCOME-LOST).
    pub unwritten: usize,
    /// Lanes that were given back; others come free when their lease runs out.
    pub released: usize,
}

impl Desk {
    /// Stops reading, waits for sends that have begun, writes their outcomes, gives the lanes back.
    pub(super) async fn drain(mut self) -> Drained {
        self.draining = true;
        let sends_until = Instant::now() + self.parts.settings.drain_timeout;
        self.wait_until(sends_until, |desk| desk.destinations.in_flight().calls == 0).await;
        let unresolved = self.count_in_flight();
        let outcomes_until = Instant::now() + self.parts.settings.store_timeout;
        self.wait_until(outcomes_until, |desk| desk.all_written() && !desk.is_tending()).await;
        let unwritten = self.ledgers.iter().map(super::settle::Ledger::len).sum();
        self.work.shutdown().await;
        let released = self.release_all().await;
        self.say_goodbye().await;
        let drained = Drained { unresolved, unwritten, released };
        tracing::info!(unresolved, unwritten, released, "drained");
        drained
    }

    /// Goes on settling and renewing until the condition holds or the time is over.
    async fn wait_until(&mut self, until: Instant, done: impl Fn(&Self) -> bool) {
        while !done(self) {
            let now = Instant::now();
            self.start_tending(now);
            self.start_settling(now);
            let wake = self.next_wake().min(now + Duration::from_millis(100)).min(until);
            tokio::select! {
                biased;
                report = self.next_report() => self.take(report),
                () = tokio::time::sleep_until(wake) => {}
            }
            if Instant::now() >= until {
                return;
            }
        }
    }

    fn count_in_flight(&self) -> usize {
        let sends = self.running.values().map(|running| match running {
            Running::Publish(flight) => flight.tickets.len(),
            _ => 0,
        });
        sends.sum()
    }

    /// Takes no part in sharing any longer, so that the others need not wait for this worker's
    /// heartbeat to grow old. If it fails, they do.
    async fn say_goodbye(&self) {
        let card = WorkerCard { wants_lanes: None, ..self.parts.card.clone() };
        let limit = self.parts.settings.store_timeout;
        if let Err(error) = bounded(limit, self.parts.control.heartbeat(&card)).await {
            tracing::debug!(%error, "the last heartbeat failed");
        }
    }

    async fn release_all(&self) -> usize {
        let leases: Vec<LaneLease> = self.lanes.values().map(|window| window.lease).collect();
        if leases.is_empty() {
            return 0;
        }
        let limit = self.parts.settings.store_timeout;
        match bounded(limit, self.parts.control.release(&leases)).await {
            Ok(()) => leases.len(),
            Err(error) => {
                tracing::warn!(%error, "lanes were not given back: they come free with their lease");
                0
            }
        }
    }
}
