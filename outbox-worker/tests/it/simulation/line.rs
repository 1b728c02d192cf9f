//! The way from one process to the database and to the broker.

use std::future;
use std::sync::Arc;
use std::time::Duration;

use outbox_core::OutboxStore;
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::fault::Place;
use super::journal::{Fact, Worker};
use super::world::World;

/// What a process has of the world. Nothing leaves it while it is halted.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) world: Arc<World>,
    pub(super) worker: Worker,
    pub(super) store: Arc<dyn OutboxStore>,
    /// When the process started, by its own clock and by that of the run.
    started: Instant,
    started_at: Duration,
    pub(super) halts: Arc<Notify>,
    pub(super) thaws: Arc<Notify>,
}

impl Line {
    /// Made within the runtime of the process, for its clock.
    pub(super) fn new(
        world: &Arc<World>,
        worker: Worker,
        store: Arc<dyn OutboxStore>,
        now: Duration,
    ) -> Self {
        Self {
            world: Arc::clone(world),
            worker,
            store,
            started: Instant::now(),
            started_at: now,
            halts: Arc::default(),
            thaws: Arc::default(),
        }
    }

    /// The time of the run, as this process knows it.
    pub(super) fn now(&self) -> Duration {
        self.started_at + self.started.elapsed()
    }

    /// As [`Line::now`], from outside of the process.
    pub(super) fn now_in(&self, runtime: &Runtime) -> Duration {
        let _within = runtime.enter();
        self.now()
    }

    /// The instant of the process at this time of the run.
    pub(super) fn instant(&self, at: Duration) -> Instant {
        self.started + at.saturating_sub(self.started_at)
    }

    /// A place where the process may be stopped for good or for a while.
    pub(super) async fn pass(&self, place: Place) {
        while self.world.state().springs(self.worker, place) {
            let thawed = self.thaws.notified();
            self.halts.notify_one();
            thawed.await;
        }
        self.world.tick(self.now());
    }

    /// A message is on its way.
    pub(super) async fn travel(&self) {
        let delay = self.world.state().draw_delay();
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        self.world.tick(self.now());
    }

    pub(super) fn note(&self, fact: Fact) {
        self.world.note(fact);
    }

    /// Nothing is heard of it again.
    pub(super) async fn hang<T>(&self) -> T {
        future::pending().await
    }
}
