//! A dispatcher between a store in memory and a scripted publisher, on a clock of the test's.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use outbox_core::{
    EventId, ExponentialBackoff, Failure, FailureKind, OutboxMessage, OutboxStore, Publisher,
    RetryPolicy, WakeSource,
};
use outbox_testing::{CommitOrder, ManualClock, MemoryStore, ScriptedPublisher};
use outbox_worker::{
    CancellationToken, Dispatcher, DispatcherBuilder, DispatcherSettings, Drained, Figures,
};
use tokio::task::JoinHandle;

/// How long a test waits, on its own clock, before it says that something never happened.
const PATIENCE: Duration = Duration::from_mins(10);

pub(crate) struct Rig {
    pub(crate) clock: ManualClock,
    pub(crate) store: MemoryStore,
    pub(crate) publisher: ScriptedPublisher,
    pub(crate) settings: DispatcherSettings,
    pub(crate) retry: ExponentialBackoff,
}

impl Rig {
    /// Starts the clock too: the store's time follows the paused time of the runtime.
    pub(crate) fn new() -> Self {
        Self::with_commits(CommitOrder::Ordered)
    }

    pub(crate) fn with_commits(commits: CommitOrder) -> Self {
        let clock = ManualClock::new();
        tokio::spawn(follow_paused_time(clock.clone()));
        Self {
            store: MemoryStore::with_commit_order(&clock, commits),
            publisher: ScriptedPublisher::with_clock(&clock),
            clock,
            settings: DispatcherSettings::default(),
            retry: ExponentialBackoff::default(),
        }
    }

    pub(crate) fn start(&self) -> Worker {
        self.start_with(Arc::new(self.publisher.clone()))
    }

    pub(crate) fn start_with(&self, publisher: Arc<dyn Publisher>) -> Worker {
        self.start_under(publisher, Arc::new(self.retry.clone()))
    }

    pub(crate) fn start_under(
        &self,
        publisher: Arc<dyn Publisher>,
        retry: Arc<dyn RetryPolicy>,
    ) -> Worker {
        Worker::of(self.dispatcher(publisher).retry(retry))
    }

    /// A run that ends by itself.
    pub(crate) async fn run_until_idle(&self) -> Drained {
        let dispatcher = self.dispatcher(Arc::new(self.publisher.clone())).build().unwrap();
        within("an idle worker", dispatcher.run_until_idle(CancellationToken::new())).await
    }

    pub(crate) fn start_woken_by(&self, source: Arc<dyn WakeSource>) -> Worker {
        Worker::of(self.dispatcher(Arc::new(self.publisher.clone())).wake(source))
    }

    pub(crate) fn dispatcher(&self, publisher: Arc<dyn Publisher>) -> DispatcherBuilder {
        let store: Arc<dyn OutboxStore> = Arc::new(self.store.clone());
        Dispatcher::builder(store, publisher).settings(self.settings.clone())
    }

    /// Lets this much time pass, step by step, for the runtime and for the store.
    pub(crate) async fn pass(&self, time: Duration) {
        let _ = tokio::time::timeout(time, std::future::pending::<()>()).await;
    }

    pub(crate) async fn until(&self, what: &str, condition: impl Fn(&MemoryStore) -> bool) {
        within(what, self.store.until(condition)).await;
    }

    /// Until nothing is left to be sent.
    pub(crate) async fn until_empty(&self) {
        self.until("an empty outbox", |store| store.pending().is_empty()).await;
    }

    pub(crate) async fn accepted(&self, messages: usize) -> Vec<EventId> {
        within("accepted messages", self.publisher.accepted_at_least(messages)).await
    }
}

pub(crate) struct Worker {
    shutdown: CancellationToken,
    running: JoinHandle<Drained>,
    pub(crate) figures: Arc<Figures>,
}

impl Worker {
    pub(crate) fn of(dispatcher: DispatcherBuilder) -> Self {
        Self::run(dispatcher.build().unwrap())
    }

    pub(crate) fn run(dispatcher: Dispatcher) -> Self {
        let figures = dispatcher.figures();
        let shutdown = CancellationToken::new();
        let running = tokio::spawn(dispatcher.run(shutdown.clone()));
        Self { shutdown, running, figures }
    }

    pub(crate) async fn stop(self) -> Drained {
        self.shutdown.cancel();
        within("the drain", self.running).await.unwrap()
    }

    pub(crate) fn shutdown(&self) {
        self.shutdown.cancel();
    }

    /// Ends it as a crash does: nothing is settled and nothing is given back.
    pub(crate) fn kill(self) {
        self.running.abort();
    }
}

pub(crate) async fn within<T>(what: &str, wait: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(PATIENCE, wait).await;
    assert!(done.is_ok(), "{what}: waited for {PATIENCE:?} in vain");
    done.unwrap()
}

async fn follow_paused_time(clock: ManualClock) {
    let step = Duration::from_millis(5);
    let mut ticks = tokio::time::interval(step);
    ticks.tick().await;
    loop {
        ticks.tick().await;
        clock.advance(step);
    }
}

pub(crate) fn message(topic: &str) -> OutboxMessage {
    let payload = Bytes::from_static(b"{}");
    OutboxMessage::new(EventId::new(), "orders.changed", topic, "https://shop.example", payload)
}

pub(crate) fn ordered(topic: &str, key: &str) -> OutboxMessage {
    let mut message = message(topic);
    message.partition_key = Some(key.to_owned());
    message.ordering_key = Some(key.to_owned());
    message
}

pub(crate) fn failure(kind: FailureKind) -> Failure {
    Failure::new(kind, "as the test says")
}
