//! Sends records until a signal says to stop.

use std::sync::Arc;
use std::time::Duration;

use outbox_core::{OutboxStore, Publisher};
use outbox_worker::publisher::sns::{ClientTimeouts, SnsPublisher, client_from_env};
use outbox_worker::publisher::{LogPublisher, Router};
use outbox_worker::{CancellationToken, Dispatcher};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;
use tracing::{Instrument as _, Span};

use crate::database;
use crate::exit_reason::ExitReason;
use crate::settings::{PublisherKind, Settings};

/// Runs a dispatcher for each outbox, to the end of all.
pub(crate) async fn run(settings: &Settings, until_idle: bool) -> Result<(), ExitReason> {
    // Before anything is leased, so that no signal can fall into a gap.
    let signals = Signals::new()?;
    let publisher = publisher(settings).await?;
    let mut dispatchers = Vec::new();
    for (name, settings) in settings.outboxes()? {
        let dispatcher = dispatcher(&settings, Arc::clone(&publisher)).await;
        let dispatcher = dispatcher.map_err(|reason| reason.of(name.as_deref()))?;
        dispatchers.push((name, dispatcher));
    }

    let shutdown = CancellationToken::new();
    tokio::spawn(signals.watch(shutdown.clone()));
    tracing::info!(version = env!("CARGO_PKG_VERSION"), "worker runs");
    let mut running = JoinSet::new();
    for (name, dispatcher) in dispatchers {
        let span = name.map_or_else(Span::none, |name| tracing::info_span!("outbox", name));
        running.spawn(serve(dispatcher, until_idle, shutdown.clone()).instrument(span));
    }
    let mut all = Ok(());
    while let Some(ended) = running.join_next().await {
        if let Err(died) = ended {
            // The others give their lanes back.
            shutdown.cancel();
            all = Err(ExitReason::new("a dispatcher died", died));
        }
    }
    all
}

async fn serve(dispatcher: Dispatcher, until_idle: bool, shutdown: CancellationToken) {
    if until_idle {
        dispatcher.run_until_idle(shutdown).await;
    } else {
        dispatcher.run(shutdown).await;
    }
}

async fn dispatcher(
    settings: &Settings,
    publisher: Arc<dyn Publisher>,
) -> Result<Dispatcher, ExitReason> {
    let store: Arc<dyn OutboxStore> =
        Arc::new(database::store(settings, settings.pool.connections).await?);
    let control: Arc<dyn OutboxStore> = Arc::new(database::another_store(settings).await?);
    let mut dispatcher = Dispatcher::builder(store, publisher)
        .control(control)
        .retry(Arc::new(settings.retry.policy()))
        .settings(settings.dispatcher.clone());
    if let Some(wakes) = database::wakes(settings).await? {
        dispatcher = dispatcher.wake(wakes);
    }
    dispatcher.build().map_err(|error| ExitReason::new("dispatcher settings", error))
}

async fn publisher(settings: &Settings) -> Result<Arc<dyn Publisher>, ExitReason> {
    if settings.publisher == PublisherKind::Log {
        return Ok(Arc::new(LogPublisher::new()));
    }
    let topics = settings.sns.topics()?;
    let client = client_from_env(timeouts(settings.dispatcher.publish_timeout))
        .await
        .map_err(|error| ExitReason::new("the SNS client cannot be made", error))?;
    let limit = time_limit(settings.dispatcher.publish_timeout);
    let sns = SnsPublisher::new(client, topics).with_time_limit(limit);
    let sns: Arc<dyn Publisher> = Arc::new(sns);
    Ok(Arc::new(Router::new(Arc::clone(&sns)).with_route("sns", sns)))
}

/// An answer of the client must come before the dispatcher gives the call up as ambiguous.
fn timeouts(publish: Duration) -> ClientTimeouts {
    let mut timeouts = ClientTimeouts::default();
    timeouts.connect = timeouts.connect.min(publish / 2);
    timeouts.attempt = timeouts.attempt.min(publish * 3 / 4);
    timeouts.operation = timeouts.operation.min(publish);
    timeouts
}

/// The publisher must end a call before the dispatcher does, which forgets what SNS has answered.
fn time_limit(publish: Duration) -> Duration {
    publish.saturating_sub((publish / 10).min(Duration::from_millis(500)))
}

/// SIGTERM and SIGINT.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> Result<Self, ExitReason> {
        let listen = |kind| {
            signal(kind).map_err(|error| ExitReason::new("signals cannot be awaited", error))
        };
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
        })
    }

    /// The first signal drains, the second one ends the process at once.
    async fn watch(mut self, shutdown: CancellationToken) {
        self.next().await;
        tracing::info!("draining: a second signal ends at once");
        shutdown.cancel();
        self.next().await;
        tracing::warn!("ended without draining");
        std::process::exit(1);
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
