//! Staging by hand, on a transaction.

use async_trait::async_trait;
use outbox_core::{IntoEnvelope, StagedMessage};
use sea_orm::{ConnectionTrait, DbErr, TransactionSession};

use crate::events::{Events, IntoEvents};

/// An open transaction: what events can be staged on.
///
/// Implemented for everything that is a `ConnectionTrait` and a `TransactionSession`. A generic
/// service asks for those two.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a transaction: events can only be staged inside of one",
    label = "outside of a transaction the row and its events cannot commit together",
    note = "begin a transaction, `let txn = db.begin().await?`, and pass `&txn`",
    note = "a generic function asks for `C: ConnectionTrait + TransactionSession`"
)]
pub trait InTransaction: ConnectionTrait + TransactionSession {}

impl<C: ConnectionTrait + TransactionSession> InTransaction for C {}

/// Stages events that no save of an entity stages.
///
/// The methods are there on every connection, so that the compiler can say what to do, and work
/// on a transaction alone:
///
/// ```compile_fail,E0277
/// # use outbox_seaorm::{OutboxEvent, Stage};
/// # #[derive(serde::Serialize, OutboxEvent)]
/// # #[outbox(type = "reports.requested", topic = "reports")]
/// # struct ReportRequested;
/// async fn request(db: &sea_orm::DatabaseConnection) -> Result<(), sea_orm::DbErr> {
///     db.stage(ReportRequested).await // error: `DatabaseConnection` is not a transaction
/// }
/// ```
///
/// ```
/// # use outbox_seaorm::{OutboxEvent, Stage};
/// # #[derive(serde::Serialize, OutboxEvent)]
/// # #[outbox(type = "reports.requested", topic = "reports")]
/// # struct ReportRequested;
/// use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr};
/// use sea_orm::{TransactionSession, TransactionTrait};
///
/// async fn request(db: &DatabaseConnection) -> Result<(), DbErr> {
///     let txn = db.begin().await?;
///     generic(&txn).await?;
///     txn.commit().await
/// }
///
/// async fn generic<C: ConnectionTrait + TransactionSession>(txn: &C) -> Result<(), DbErr> {
///     txn.stage(ReportRequested).await
/// }
/// ```
///
/// Stage after the write that the event is about: events of one ordering key are then in the order
/// of the writes. An error is a reason to roll back, as with any other statement.
///
/// So is a call that was given up, by a timeout or `select!`, be it a save or a staging: it may have
/// written already, and a nested save that is given up can end the whole transaction at the driver,
/// which tells nobody. Drop the transaction with it, as a dropped `db.transaction(|txn| ..)` does.
#[async_trait]
pub trait Stage: ConnectionTrait + Sized {
    /// Stages one event.
    ///
    /// # Errors
    /// The database's own, or an [`OutboxError`](crate::OutboxError) inside of it.
    async fn stage<E>(&self, event: E) -> Result<(), DbErr>
    where
        Self: InTransaction,
        E: IntoEnvelope + Send,
    {
        let mut events = Events::open()?;
        events.push(event)?;
        events.insert(self).await
    }

    /// Stages any number of events with as few statements as the database takes well; see
    /// [`IntoEvents`].
    ///
    /// All are encoded before the first is sent to the database. A statement carries up to 14 KiB of
    /// events over a network, because a larger one can wait for tens of milliseconds there, and on
    /// SQLite as many as it can bind.
    ///
    /// # Errors
    /// As [`stage`](Self::stage).
    #[doc(alias = "stage_many")]
    async fn stage_all<E>(&self, events: E) -> Result<(), DbErr>
    where
        Self: InTransaction,
        E: IntoEvents + Send,
    {
        let mut staged = Events::open()?;
        events.push_into(&mut staged)?;
        staged.insert(self).await
    }

    /// Stages messages that are encoded already, as a bridge from elsewhere has them. Source and
    /// context are what the messages say. What no event could become is refused.
    ///
    /// # Errors
    /// As [`stage`](Self::stage).
    async fn stage_encoded<M>(&self, messages: M) -> Result<(), DbErr>
    where
        Self: InTransaction,
        M: IntoIterator<Item = StagedMessage> + Send,
    {
        let mut staged = Events::open()?;
        messages.into_iter().try_for_each(|message| staged.push_foreign(message))?;
        staged.insert(self).await
    }
}

impl<C: ConnectionTrait> Stage for C {}
