//! Telling the worker that there is something to send.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use outbox_core::TableNames;
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

/// Who tells the worker on PostgreSQL that events were committed.
///
/// It is for workers that listen on the outbox's channel, which is named like its tables, with the
/// word `wake`: `outbox_wake`. They are woken for events that are staged on a
/// `DatabaseTransaction`; those of a wrapper around one, or under role-based access control, they
/// find by themselves, as they do without the feature `postgres`.
///
/// It spares the worker's polling interval and nothing else: the worker looks by itself, so a
/// wake-up that is lost costs at most one such interval. Other databases have no such call, and
/// there the worker's polling is all there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wake {
    /// The application calls [`CommitNotifier::notify`] after the commit.
    AfterCommit,
    /// The staging statement itself, at the commit, for one open transaction at a time.
    ///
    /// It needs no call, so it works where a closure or a middleware commits. PostgreSQL commits
    /// transactions that notify one after another; with only one of them at a time the others still
    /// share their flushes.
    #[default]
    Gated,
    /// Nobody.
    Off,
}

impl Wake {
    pub(crate) const WANTED: &'static str = "after_commit, gated or off";

    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "after_commit" => Some(Self::AfterCommit),
            "gated" => Some(Self::Gated),
            "off" => Some(Self::Off),
            _ => None,
        }
    }
}

/// The channel of one outbox, as a string of SQL.
///
/// Outboxes of one prefix in several schemas share it: a worker that is woken for nothing finds
/// nothing.
pub(crate) fn channel(tables: &TableNames) -> String {
    format!("'{}'", tables.identifier("wake").replace('\'', "''"))
}

/// At most one notification in this time: the worker is busy with the first one anyway.
const PAUSE: Duration = Duration::from_millis(10);

/// After this time a connection that does not answer is given up, and another one is taken.
const PATIENCE: Duration = Duration::from_secs(5);

/// Wakes the worker after commits, over a connection of its pool that it takes for each time.
///
/// For applications that stage under [`Wake::AfterCommit`]. Calls that come close together are one
/// notification, and none waits for it.
///
/// ```no_run
/// # async fn example(db: sea_orm::DatabaseConnection) -> Result<(), sea_orm::DbErr> {
/// use outbox_seaorm::{CommitNotifier, TableNames};
/// use sea_orm::{TransactionSession, TransactionTrait};
///
/// let notifier = CommitNotifier::new(db.clone(), &TableNames::default()); // once, at start
///
/// let txn = db.begin().await?;
/// // … save, stage …
/// txn.commit().await?;
/// notifier.notify();
/// # Ok(())
/// # }
/// ```
pub struct CommitNotifier {
    wanted: Arc<Notify>,
    sending: AbortHandle,
}

impl CommitNotifier {
    /// Sends over this pool, in the runtime that this is called in. Dropping it ends that.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn new(db: DatabaseConnection, tables: &TableNames) -> Self {
        let wanted = Arc::new(Notify::new());
        let statement = format!("SELECT pg_notify({}, '')", channel(tables));
        let sending = tokio::spawn(send(db, statement, Arc::clone(&wanted))).abort_handle();
        Self { wanted, sending }
    }

    /// The worker will hear of what is committed by now.
    pub fn notify(&self) {
        self.wanted.notify_one();
    }
}

impl Drop for CommitNotifier {
    fn drop(&mut self) {
        self.sending.abort();
    }
}

impl fmt::Debug for CommitNotifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommitNotifier").finish_non_exhaustive()
    }
}

async fn send(db: DatabaseConnection, statement: String, wanted: Arc<Notify>) {
    if db.get_database_backend() != DbBackend::Postgres {
        return;
    }
    let mut fails = false;
    loop {
        wanted.notified().await;
        let sent = timeout(PATIENCE, db.execute_unprepared(&statement)).await;
        let failure = match sent {
            Ok(sent) => sent.err().map(|error| error.to_string()),
            Err(_) => Some("no answer in time".to_owned()),
        };
        match &failure {
            Some(error) if !fails => {
                tracing::warn!(error, "the worker cannot be woken: it looks by itself, later");
            }
            None if fails => tracing::info!("the worker can be woken again"),
            _ => {}
        }
        fails = failure.is_some();
        sleep(PAUSE).await;
    }
}
