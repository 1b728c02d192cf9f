//! Hearing the wake-ups of writers on PostgreSQL.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use outbox_core::{TableNames, WakeSource};
use sea_orm::sqlx::postgres::PgListener;
use sea_orm::sqlx::{Error, PgPool};
use sea_orm::{DatabaseConnection, DbBackend, DbErr};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::sleep;

/// Pause before a connection that cannot be had is tried again.
const PAUSE: Duration = Duration::from_secs(5);

/// Hears the commits of [`Wake::Gated`](crate::Wake::Gated) and of
/// [`CommitNotifier`](crate::CommitNotifier).
///
/// It keeps one connection of its pool for good. While it has none it hears nothing, and the
/// dispatcher's polling is all there is; a pooler that hands out a connection per transaction never
/// lets it hear anything.
pub struct WakeListener {
    woken: Arc<Notify>,
    listening: AbortHandle,
}

impl WakeListener {
    /// Listens for the outbox with these tables, in the runtime that this is called in. Dropping it
    /// ends that.
    ///
    /// # Errors
    /// [`DbErr::BackendNotSupported`] if the pool is none of PostgreSQL.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn new(db: &DatabaseConnection, tables: &TableNames) -> Result<Self, DbErr> {
        let backend = db.get_database_backend();
        if backend != DbBackend::Postgres {
            let db = backend.as_str();
            return Err(DbErr::BackendNotSupported { db, ctx: "hearing wake-ups" });
        }
        let woken = Arc::new(Notify::new());
        let pool = db.get_postgres_connection_pool().clone();
        let listening = listen(pool, tables.identifier("wake"), Arc::clone(&woken));
        Ok(Self { woken, listening: tokio::spawn(listening).abort_handle() })
    }
}

#[async_trait]
impl WakeSource for WakeListener {
    async fn woken(&self) {
        self.woken.notified().await;
    }
}

impl Drop for WakeListener {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl fmt::Debug for WakeListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WakeListener").finish_non_exhaustive()
    }
}

async fn listen(pool: PgPool, channel: String, woken: Arc<Notify>) {
    let mut deaf = false;
    loop {
        let Err(error) = hear(&pool, &channel, &woken, &mut deaf).await;
        if !deaf {
            tracing::warn!(%error, "wake-ups cannot be heard: the worker looks by itself, later");
        }
        deaf = true;
        sleep(PAUSE).await;
    }
}

/// Passes on what is heard until listening fails.
async fn hear(
    pool: &PgPool,
    channel: &str,
    woken: &Notify,
    deaf: &mut bool,
) -> Result<std::convert::Infallible, Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen(channel).await?;
    if std::mem::take(deaf) {
        tracing::info!("wake-ups are heard again");
    }
    loop {
        // Also at first and after a connection was lost: nobody listened to what was committed then.
        woken.notify_one();
        listener.try_recv().await?;
    }
}
