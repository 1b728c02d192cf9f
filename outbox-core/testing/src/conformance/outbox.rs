//! One worker of the outbox under test.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use outbox_core::{
    Batch, EventId, Lane, LaneLease, LaneRead, LeaseRequest, LeaseTime, OutboxRecord, OutboxStats,
    OutboxStore, Outcome, OutcomeKind, Position, ReadRequest, RecordRef, Settled, StagedMessage,
    WorkerId,
};

use super::fixture::StoreFixture;
use super::sample::HOUR;

/// A worker with the lanes that it leased.
pub(super) struct Outbox<'f> {
    pub(super) fixture: &'f dyn StoreFixture,
    pub(super) store: Arc<dyn OutboxStore>,
    pub(super) owner: WorkerId,
    pub(super) leases: Vec<LaneLease>,
}

impl<'f> Outbox<'f> {
    /// A worker that holds no lane.
    pub(super) fn new(fixture: &'f dyn StoreFixture) -> Self {
        let store = fixture.store();
        Self { fixture, store, owner: WorkerId::new(), leases: Vec::new() }
    }

    /// A worker that holds all lanes for an hour.
    pub(super) async fn holding_all(fixture: &'f dyn StoreFixture) -> Self {
        Self::holding_all_for(fixture, HOUR).await
    }

    /// A worker that leased all lanes for so long.
    pub(super) async fn holding_all_for(fixture: &'f dyn StoreFixture, time: Duration) -> Self {
        let mut outbox = Self::new(fixture);
        outbox.leases = outbox.lease(Lane::COUNT, time).await;
        assert_eq!(outbox.leases.len(), usize::from(Lane::COUNT), "all lanes should be free");
        outbox
    }

    /// Leases up to so many lanes, orphans not asked for.
    pub(super) async fn lease(&self, lanes: u8, time: Duration) -> Vec<LaneLease> {
        self.lease_as(&self.lease_request(lanes, time)).await
    }

    pub(super) async fn lease_as(&self, request: &LeaseRequest) -> Vec<LaneLease> {
        self.store.lease(request).await.unwrap()
    }

    pub(super) fn lease_request(&self, lanes: u8, time: Duration) -> LeaseRequest {
        LeaseRequest {
            owner: self.owner,
            lanes,
            lease: lease_time(time),
            orphans: None,
            except: Vec::new(),
            counts_abandoned: true,
        }
    }

    pub(super) async fn renew(&self, leases: &[LaneLease], time: Duration) -> Vec<LaneLease> {
        self.store.renew(leases, lease_time(time)).await.unwrap()
    }

    pub(super) async fn release(&self, leases: &[LaneLease]) {
        self.store.release(leases).await.unwrap();
    }

    /// Commits messages in one transaction.
    pub(super) async fn stage(&self, messages: impl IntoIterator<Item = StagedMessage>) {
        self.fixture.stage(messages.into_iter().collect()).await;
    }

    /// All lanes from the start, with more room than any case needs.
    pub(super) fn read_request() -> ReadRequest {
        let from_start = |lane| LaneRead::new(lane, Position(0));
        ReadRequest {
            lanes: Lane::all().map(from_start).collect(),
            known: Vec::new(),
            without: Vec::new(),
            records: NonZeroU32::new(1000).unwrap(),
            bytes: 1 << 30,
        }
    }

    pub(super) async fn read_as(&self, request: &ReadRequest) -> Batch {
        self.store.read(request).await.unwrap()
    }

    /// Everything that is due.
    pub(super) async fn read(&self) -> Vec<OutboxRecord> {
        self.read_as(&Self::read_request()).await.records
    }

    /// The only record that is due.
    pub(super) async fn read_one(&self) -> OutboxRecord {
        let mut records = self.read().await;
        assert_eq!(records.len(), 1, "one record should be due");
        records.remove(0)
    }

    /// An outcome under the lease that this worker holds or held.
    pub(super) fn outcome(&self, record: &OutboxRecord, kind: OutcomeKind) -> Outcome {
        let lane = record.reference.lane;
        let lease = self.leases.iter().find(|lease| lease.lane == lane).unwrap();
        Outcome { record: record.reference, token: lease.token, revision: record.revision, kind }
    }

    /// Settles one record.
    pub(super) async fn settle(&self, record: &OutboxRecord, kind: OutcomeKind) -> Settled {
        self.settle_all(&[self.outcome(record, kind)]).await
    }

    pub(super) async fn settle_all(&self, outcomes: &[Outcome]) -> Settled {
        self.store.settle(outcomes).await.unwrap()
    }

    pub(super) async fn stats(&self) -> OutboxStats {
        self.store.stats().await.unwrap()
    }

    pub(super) async fn pass(&self, time: Duration) {
        self.fixture.pass(time).await;
    }
}

pub(super) fn lease_time(time: Duration) -> LeaseTime {
    LeaseTime::new(time).unwrap()
}

pub(super) fn ids(records: &[OutboxRecord]) -> Vec<EventId> {
    records.iter().map(|record| record.reference.id).collect()
}

pub(super) fn references(records: &[OutboxRecord]) -> Vec<RecordRef> {
    records.iter().map(|record| record.reference).collect()
}

/// Ids in the order of their staging.
pub(super) fn staged_ids(messages: &[StagedMessage]) -> Vec<EventId> {
    messages.iter().map(|staged| staged.message.id).collect()
}

/// The same items, whatever their order.
pub(super) fn sorted<T: Ord>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.into_iter().collect();
    items.sort();
    items
}

/// The only one.
pub(super) fn only<T>(mut items: Vec<T>) -> T {
    assert_eq!(items.len(), 1, "there should be one");
    items.remove(0)
}
