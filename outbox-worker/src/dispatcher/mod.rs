//! Leases lanes, reads their records, publishes them and settles what became of them.
//!
//! One loop owns all state; reads, sends, settlements and the care for leases run beside it and
//! report back. The phases are in their files: [`tend`] leases, renews and hands over, `routing` what others can send; `read` brings
//! records in; `publish` sends them, `crash_loop` one at a time where workers died; `settle` writes
//! the outcomes; `drain` ends it all.

mod breakers;
mod builder;
mod claims;
mod contact;
mod crash_loop;
mod desk;
mod destination_queue;
mod destinations;
mod drain;
mod due_walk;
mod flow;
mod guard;
mod held;
mod idle;
mod key_queue;
mod lane_window;
mod left_out;
mod outage;
mod pace;
mod publish;
mod read;
mod routing;
mod settle;
mod spans;
mod stats;
mod tend;
mod trouble;

use std::sync::Arc;

pub use builder::DispatcherBuilder;
use desk::Desk;
pub use drain::Drained;
use futures_util::future::select_all;
use guard::Guards;
use outbox_core::{LeaseTime, OutboxStore, Publisher, RetryPolicy, WakeSource, WorkerCard};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::figures::Figures;
use crate::health::Health;
use crate::metrics::{Measurement, OutboxMetrics};
use crate::settings::DispatcherSettings;
use crate::trace::TraceLink;

/// Sends the records of an outbox until it is told to stop.
///
/// Delivery is at-least-once. A record is sent again when the process dies between the broker's
/// answer and the settlement (CRASH), when a lease runs out during a send (LEASE), when the broker's
/// answer is lost (ANSWER-LOST), when an outcome cannot be written for a whole lease (OUTCOME-LOST),
/// and when a shutdown does not wait for a send (DRAIN). Records of one ordering key are sent one at
/// a time, in order.
#[derive(Debug)]
pub struct Dispatcher {
    store: Arc<dyn OutboxStore>,
    control: Arc<dyn OutboxStore>,
    publisher: Arc<dyn Publisher>,
    retry: Arc<dyn RetryPolicy>,
    settings: DispatcherSettings,
    lease: LeaseTime,
    card: WorkerCard,
    figures: Arc<Figures>,
    health: Arc<Health>,
    metrics: Option<Arc<dyn OutboxMetrics>>,
    traces: Option<Arc<dyn TraceLink>>,
    wakes: Vec<Arc<dyn WakeSource>>,
    guards: Guards,
}

impl Dispatcher {
    /// A dispatcher between this store and this publisher.
    pub fn builder(
        store: Arc<dyn OutboxStore>,
        publisher: Arc<dyn Publisher>,
    ) -> DispatcherBuilder {
        DispatcherBuilder::new(store, publisher)
    }

    /// Counters that grow while it runs.
    pub fn figures(&self) -> Arc<Figures> {
        Arc::clone(&self.figures)
    }

    /// What it can do, to be asked while it runs.
    pub fn health(&self) -> Arc<Health> {
        Arc::clone(&self.health)
    }

    fn measure(&self, measurement: &Measurement<'_>) {
        self.figures.measure(measurement);
        self.health.measure(measurement);
        if let Some(metrics) = &self.metrics {
            self.guards.metrics.call(|| metrics.measure(measurement));
        }
    }

    /// Runs until `shutdown` is cancelled, then drains.
    ///
    /// A database that is away is waited for; nothing but the shutdown ends the loop.
    pub async fn run(self, shutdown: CancellationToken) -> Drained {
        self.run_until(shutdown, |_| false).await
    }

    /// Runs until nothing is left that can be sent now, then drains: for a schedule instead of a
    /// process that stays.
    ///
    /// What failed and is due again later is left for the next run, and so is what goes to a topic
    /// that is broken. Lanes of a worker that died are waited for until their leases run out, and so
    /// is a database that is away; `shutdown` ends that too.
    pub async fn run_until_idle(self, shutdown: CancellationToken) -> Drained {
        self.run_until(shutdown, Desk::is_idle).await
    }

    async fn run_until(self, shutdown: CancellationToken, done: fn(&Desk) -> bool) -> Drained {
        let wakes = self.wakes.clone();
        let mut desk = Desk::new(self);
        loop {
            let now = Instant::now();
            desk.start_what_is_due(now);
            if done(&desk) {
                return desk.drain().await;
            }
            let wake = desk.next_wake(now);
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return desk.drain().await,
                report = desk.next_report() => desk.take(report),
                () = woken(&wakes) => desk.look(),
                () = tokio::time::sleep_until(wake) => {}
            }
        }
    }
}

/// Waits for the first of them, for ever if there is none.
async fn woken(sources: &[Arc<dyn WakeSource>]) {
    if sources.is_empty() {
        return std::future::pending().await;
    }
    select_all(sources.iter().map(|source| source.woken())).await;
}
