//! Ending in order.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use outbox_core::{LaneLease, StoreError, WorkerCard};
use tokio::time::Instant;

use super::desk::{Desk, Running, bounded, died};
use super::settle::Ledger;

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
        let outcomes_until = Instant::now() + self.parts.settings.store_timeout;
        self.wait_until(outcomes_until, |desk| desk.all_written() && !desk.is_tending()).await;
        let (unresolved, unwritten) = (self.count_in_flight(), self.count_unwritten());
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
            let wake = self.next_wake(now).min(now + Duration::from_millis(100)).min(until);
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

    /// Those that no settlement has taken up, and those of settlements that have not ended.
    fn count_unwritten(&self) -> usize {
        let waiting: usize = self.ledgers.iter().map(Ledger::len).sum();
        let under_way = self.running.values().map(|running| match running {
            Running::Settle { written, .. } => written.len(),
            _ => 0,
        });
        waiting + under_way.sum::<usize>()
    }

    /// Takes no part in sharing any longer, so that the others need not wait for this worker's
    /// heartbeat to grow old. If it fails, they do.
    async fn say_goodbye(&self) {
        let card = WorkerCard { wants_lanes: None, ..self.parts.card.clone() };
        let limit = self.parts.settings.store_timeout;
        if let Err(error) = survived(limit, self.parts.control.heartbeat(&card)).await {
            tracing::debug!(%error, "the last heartbeat failed");
        }
    }

    async fn release_all(&self) -> usize {
        let leases: Vec<LaneLease> = self.lanes.values().map(|window| window.lease).collect();
        if leases.is_empty() {
            return 0;
        }
        let limit = self.parts.settings.store_timeout;
        match survived(limit, self.parts.control.release(&leases)).await {
            Ok(()) => leases.len(),
            Err(error) => {
                tracing::warn!(%error, "lanes were not given back: they come free with their lease");
                0
            }
        }
    }
}

/// As [`bounded`], of a call that is made by the loop itself: a panic of it must not end the drain.
async fn survived<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let answer = AssertUnwindSafe(bounded(limit, call)).catch_unwind().await;
    answer.unwrap_or_else(|_| Err(died()))
}
