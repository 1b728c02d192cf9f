//! What a store's author hands in.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use outbox_core::{OutboxStore, RecordClaims, RecordRef, StagedMessage};

/// One store on an empty outbox of its own, and the hands that the contract does not have.
///
/// Its methods panic if they cannot do their work.
#[async_trait]
pub trait StoreFixture: Send + Sync {
    /// The store under test.
    fn store(&self) -> Arc<dyn OutboxStore>;

    /// Another store on the same outbox, as another process would open it.
    ///
    /// A database opens connections of its own for it.
    async fn reopen(&self) -> Arc<dyn OutboxStore>;

    /// Opens a transaction of the application, outside of the store.
    async fn begin(&self) -> Box<dyn OpenWriter>;

    /// Whether the database lets one transaction write at a time, so that none can commit while
    /// another that has staged is open.
    fn one_writer(&self) -> bool {
        false
    }

    /// The store's clock, read as the store reads it.
    async fn now(&self) -> DateTime<Utc>;

    /// Returns once the store's clock has moved on by this long or longer.
    ///
    /// A manual clock is moved by exactly this long. A database is asked to wait, for instance by
    /// `SELECT pg_sleep(…)`.
    async fn pass(&self, time: Duration);

    /// Makes the stored row of this record undecodable, for instance its headers.
    async fn damage(&self, record: RecordRef);

    /// All dead letters in order of position.
    async fn dead_letters(&self) -> Vec<StoredDeadLetter>;

    /// Commits these messages in one transaction, in their order.
    async fn stage(&self, messages: Vec<StagedMessage>) {
        let mut writer = self.begin().await;
        for message in messages {
            writer.stage(message).await;
        }
        writer.commit().await;
    }
}

/// A store that has claims of single records too.
pub trait ClaimsFixture: StoreFixture {
    /// The store under test once more, for its claims.
    fn claims(&self) -> Arc<dyn RecordClaims>;
}

/// An open transaction of the application that stages messages.
#[async_trait]
pub trait OpenWriter: Send {
    /// Inserts a message.
    async fn stage(&mut self, message: StagedMessage);

    /// Commits all that was staged.
    async fn commit(self: Box<Self>);

    /// Rolls all of it back.
    async fn rollback(self: Box<Self>);
}

/// What is stored of a dead letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredDeadLetter {
    /// Which record.
    pub record: RecordRef,
    /// Recorded failures, the one that killed it included.
    pub attempts: u32,
    /// The stored word of the reason.
    pub reason: String,
    /// The stored summary of the error.
    pub error: String,
    /// The payload.
    pub payload: Bytes,
}
