//! The worker: beside the web API, with a pool of its own, never inside of a request.
//!
//! In production it is a process of its own, the binary `outbox-worker`.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use outbox_core::{Publisher, TableNames};
use outbox_seaorm::{PoolOptions, SeaOrmStore};
use outbox_worker::{CancellationToken, Dispatcher, DispatcherSettings, Drained};
use tokio::task::JoinHandle;

/// How soon an idle worker looks again. A shop can wait for a second; whoever watches, not.
const IDLE_POLL: Duration = Duration::from_millis(200);

/// The running worker.
pub(crate) struct Worker {
    shutdown: CancellationToken,
    running: JoinHandle<Drained>,
}

impl Worker {
    pub(crate) async fn start(
        database_url: &str,
        publisher: Arc<dyn Publisher>,
    ) -> anyhow::Result<Self> {
        let pool = outbox_seaorm::connect(database_url, PoolOptions::default())
            .await
            .context("the worker cannot reach the database")?;
        let store = SeaOrmStore::new(pool, TableNames::default())?;
        store.check().await.context("the worker cannot use the outbox")?;

        let mut settings = DispatcherSettings::default();
        settings.idle_poll = IDLE_POLL;
        let dispatcher =
            Dispatcher::builder(Arc::new(store), publisher).settings(settings).build()?;
        let shutdown = CancellationToken::new();
        let running = tokio::spawn(dispatcher.run(shutdown.clone()));
        Ok(Self { shutdown, running })
    }

    /// Waits for sends that have begun, writes what became of them, gives the lanes back.
    pub(crate) async fn drain(self) -> anyhow::Result<Drained> {
        self.shutdown.cancel();
        self.running.await.context("the worker ended before it was told to")
    }
}
