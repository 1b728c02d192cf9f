//! The suite on the store in memory, for each thing it may know of open transactions.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use outbox_core::{OutboxStore, RecordClaims, RecordRef, StagedMessage};
use outbox_testing::conformance::{ClaimsFixture, OpenWriter, StoreFixture, StoredDeadLetter};
use outbox_testing::{CommitOrder, DeadLetter, ManualClock, MemoryStore, MemoryTransaction};

mod ordered {
    use super::{CommitOrder, MemoryFixture};

    outbox_testing::store_conformance!(MemoryFixture::new(CommitOrder::Ordered));
    outbox_testing::record_claims_conformance!(MemoryFixture::new(CommitOrder::Ordered));
    outbox_testing::clock_conformance!(MemoryFixture::new(CommitOrder::Ordered));
    outbox_testing::claims_clock_conformance!(MemoryFixture::new(CommitOrder::Ordered));
}

mod numbered {
    use super::{CommitOrder, MemoryFixture};

    outbox_testing::store_conformance!(MemoryFixture::new(CommitOrder::Numbered));
}

mod unknown {
    use super::{CommitOrder, MemoryFixture};

    outbox_testing::store_conformance!(MemoryFixture::new(CommitOrder::Unknown));
}

struct MemoryFixture {
    clock: ManualClock,
    store: MemoryStore,
}

impl MemoryFixture {
    fn new(commits: CommitOrder) -> Self {
        let clock = ManualClock::new();
        let store = MemoryStore::with_commit_order(&clock, commits);
        Self { clock, store }
    }
}

#[async_trait]
impl StoreFixture for MemoryFixture {
    fn store(&self) -> Arc<dyn OutboxStore> {
        Arc::new(self.store.clone())
    }

    async fn reopen(&self) -> Arc<dyn OutboxStore> {
        self.store()
    }

    async fn begin(&self) -> Box<dyn OpenWriter> {
        Box::new(Writer(self.store.begin()))
    }

    async fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    async fn pass(&self, time: Duration) {
        self.clock.advance(time);
    }

    async fn damage(&self, record: RecordRef) {
        assert!(self.store.damage(record, "headers are no JSON"));
    }

    async fn dead_letters(&self) -> Vec<StoredDeadLetter> {
        self.store.dead_letters().into_iter().map(stored).collect()
    }
}

impl ClaimsFixture for MemoryFixture {
    fn claims(&self) -> Arc<dyn RecordClaims> {
        Arc::new(self.store.clone())
    }
}

fn stored(letter: DeadLetter) -> StoredDeadLetter {
    StoredDeadLetter {
        record: letter.record.reference,
        attempts: letter.record.attempts,
        reason: letter.reason.as_str().to_owned(),
        error: letter.error,
        payload: letter.record.message.payload,
    }
}

struct Writer(MemoryTransaction);

#[async_trait]
impl OpenWriter for Writer {
    async fn stage(&mut self, message: StagedMessage) {
        self.0.stage(message);
    }

    async fn commit(self: Box<Self>) {
        self.0.commit();
    }

    async fn rollback(self: Box<Self>) {
        drop(self);
    }
}
