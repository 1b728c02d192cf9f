//! One worker process: a dispatcher in a runtime of its own, which the run can stop at any await.

use std::sync::Arc;
use std::time::Duration;

use outbox_core::{OutboxStore, Publisher};
use outbox_worker::{CancellationToken, Dispatcher};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

use super::broker::SimulatedPublisher;
use super::fault::Halt;
use super::journal::{Fact, Worker};
use super::line::Line;
use super::store::SimulatedStore;
use super::world::World;

/// Its clock stands still while it does not run: a runtime of its own makes a freeze what SIGSTOP
/// is, where all timers are late at once when it goes on.
pub(super) struct Process {
    pub(super) worker: Worker,
    line: Line,
    runtime: Runtime,
    shutdown: CancellationToken,
    running: JoinHandle<()>,
    /// When it was told to stop, later by what it stood still since.
    stopping_since: Option<Duration>,
}

impl Process {
    pub(super) fn start(
        world: &Arc<World>,
        store: Arc<dyn OutboxStore>,
        worker: Worker,
        now: Duration,
    ) -> Self {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime = runtime.unwrap();
        let within = runtime.enter();
        let line = Line::new(world, worker, store, now);
        let dispatcher = dispatcher(&line);
        drop(within);
        let shutdown = CancellationToken::new();
        let (token, ending) = (shutdown.clone(), line.clone());
        let running = runtime.spawn(async move {
            let drained = dispatcher.run(token).await;
            ending.world.tick(ending.now());
            ending.note(Fact::Drained(ending.worker, drained));
        });
        Self { worker, line, runtime, shutdown, running, stopping_since: None }
    }

    /// Runs until this time, or until it is stopped on the way.
    pub(super) fn run_until(&self, time: Duration) -> Option<Halt> {
        let until = self.line.instant(time);
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                () = self.line.halts.notified() => {}
                () = tokio::time::sleep_until(until) => {}
            }
        });
        self.line.world.state().halted(self.worker)
    }

    /// Goes on at this time, after all that its timers missed.
    pub(super) fn thaw(&mut self, time: Duration) {
        let stood = time.saturating_sub(self.line.now_in(&self.runtime));
        self.stopping_since = self.stopping_since.map(|since| since + stood);
        self.line.world.state().thaw(self.worker);
        self.line.thaws.notify_waiters();
        self.runtime.block_on(tokio::time::advance(stood));
    }

    pub(super) fn stop(&mut self, now: Duration) {
        if self.stopping_since.is_none() {
            self.stopping_since = Some(now);
            self.line.note(Fact::DrainBegan(self.worker));
            self.line.world.state().stopping.push(self.worker);
            self.shutdown.cancel();
        }
    }

    /// Ends it as SIGKILL does: nothing that it does is brought to an end.
    pub(super) fn kill(self) {
        let clock = self.runtime.handle().clone();
        let _within = clock.enter();
        drop(self.runtime);
    }

    pub(super) fn has_ended(&self) -> bool {
        self.running.is_finished()
    }

    /// Whether the dispatcher panicked, which nothing may make it do.
    pub(super) fn has_panicked(self) -> bool {
        self.runtime.block_on(self.running).is_err()
    }

    /// Whether it takes longer to stop than its settings say.
    pub(super) fn is_overdue(&self, now: Duration) -> bool {
        let settings = &self.line.world.plan.settings;
        // The sends, the outcomes, the lanes and the last heartbeat, each with its limit, and a
        // step of the loop and of the run.
        let bound =
            settings.drain_timeout + settings.store_timeout * 3 + Duration::from_millis(400);
        self.stopping_since.is_some_and(|since| now > since + bound)
    }
}

fn dispatcher(line: &Line) -> Dispatcher {
    let store: Arc<dyn OutboxStore> = Arc::new(SimulatedStore(line.clone()));
    let publisher: Arc<dyn Publisher> = Arc::new(SimulatedPublisher(line.clone()));
    let plan = &line.world.plan;
    Dispatcher::builder(store, publisher)
        .settings(plan.settings.clone())
        .retry(Arc::new(plan.retry.clone()))
        .build()
        .unwrap()
}
