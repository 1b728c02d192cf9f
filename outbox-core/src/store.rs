//! The contract between a dispatcher and a database.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;

use crate::error::StoreError;
use crate::fleet::{Fleet, WorkerCard};
use crate::lease::{LaneLease, LaneState, LeaseRequest, LeaseTime};
use crate::outcome::{Outcome, Settled};
use crate::read::{Batch, ReadRequest};
use crate::record::RecordRef;
use crate::stats::OutboxStats;

/// Stores the records of one outbox and fences their settlement.
///
/// Every instant is the database's: a record is due when `available_at <= now`, a lease is live
/// while `expires_at > now`. Every call has three endings: done, not done, and unknown, which is
/// what an [`Unavailable`](crate::StoreErrorKind::Unavailable) error and a dropped future mean. A
/// call that returned is durable.
#[async_trait]
pub trait OutboxStore: Debug + Send + Sync {
    /// Leases lanes that nobody holds, each under a fresh token.
    ///
    /// No lane is ever leased twice at one instant. Fewer lanes than asked for is no error.
    ///
    /// A lane whose lease ran out counts as abandoned if the request says so, another owner had it and
    /// a record in it is due; if a record of it was marked under that lease, its deaths grow by one
    /// too. Either way the mark is void from here on.
    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LaneLease>, StoreError>;

    /// Extends leases that are still live and returns those; never shortens one, keeps the token.
    async fn renew(
        &self,
        leases: &[LaneLease],
        lease: LeaseTime,
    ) -> Result<Vec<LaneLease>, StoreError>;

    /// Gives lanes back, to be leased by anyone at once. A lease that was lost is left alone.
    async fn release(&self, leases: &[LaneLease]) -> Result<(), StoreError>;

    /// What the owner of freshly leased lanes must know before it reads them, lane by lane in the
    /// order of `leases`.
    ///
    /// It deletes claims of single records that are over, so that nobody can renew or complete one
    /// late, and tells all that are left. Their records are the claimants': no outcome of the owner
    /// changes them. So an owner asks again when a claim should be over, and reads and sends the
    /// record only after it is told no more.
    async fn acquired(&self, leases: &[LaneLease]) -> Result<Vec<LaneState>, StoreError>;

    /// Marks a record of the lane as the one that its owner is about to send, while it sends nothing
    /// else; with `None` the owner says that it outlived the send and has no outcome of it to settle.
    ///
    /// Should the owner die with the mark, its successor counts that against the record. Deaths stay
    /// with a record until another one of the lane is marked. False if the lease is not live: then
    /// nothing was written, and the record must not be sent.
    async fn mark_suspect(
        &self,
        lease: &LaneLease,
        record: Option<RecordRef>,
    ) -> Result<bool, StoreError>;

    /// Reads due records of several lanes, without lock and without write.
    ///
    /// A lane gives first what waited for an instant, longest due first, then what never waited, in
    /// order of position, and a budget cuts it to a prefix of that.
    async fn read(&self, request: &ReadRequest) -> Result<Batch, StoreError>;

    /// Writes how attempts ended.
    ///
    /// The outcomes of a lane are written in one transaction and under one check of its lease; a
    /// store may use several transactions for several lanes. A lane whose lease was leased anew is
    /// left alone and is named in the answer. An error can come after a part was written, so a call
    /// that failed is repeated: that is harmless, and what was written already is then missing from
    /// `applied`. An outcome that the database refuses as data holds up no other.
    ///
    /// An outcome that is written, unless it only parks its record, shows that the lane can be sent
    /// from: how often it was abandoned is forgotten then, and its suspect with all deaths.
    async fn settle(&self, outcomes: &[Outcome]) -> Result<Settled, StoreError>;

    /// Counts what waits, with a bounded effort.
    async fn stats(&self) -> Result<OutboxStats, StoreError>;

    /// Tells the others that this worker lives, and says who they are.
    async fn heartbeat(&self, worker: &WorkerCard) -> Result<Fleet, StoreError>;
}

#[async_trait]
impl<S: OutboxStore + ?Sized> OutboxStore for Arc<S> {
    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LaneLease>, StoreError> {
        (**self).lease(request).await
    }

    async fn renew(
        &self,
        leases: &[LaneLease],
        lease: LeaseTime,
    ) -> Result<Vec<LaneLease>, StoreError> {
        (**self).renew(leases, lease).await
    }

    async fn release(&self, leases: &[LaneLease]) -> Result<(), StoreError> {
        (**self).release(leases).await
    }

    async fn acquired(&self, leases: &[LaneLease]) -> Result<Vec<LaneState>, StoreError> {
        (**self).acquired(leases).await
    }

    async fn mark_suspect(
        &self,
        lease: &LaneLease,
        record: Option<RecordRef>,
    ) -> Result<bool, StoreError> {
        (**self).mark_suspect(lease, record).await
    }

    async fn read(&self, request: &ReadRequest) -> Result<Batch, StoreError> {
        (**self).read(request).await
    }

    async fn settle(&self, outcomes: &[Outcome]) -> Result<Settled, StoreError> {
        (**self).settle(outcomes).await
    }

    async fn stats(&self) -> Result<OutboxStats, StoreError> {
        (**self).stats().await
    }

    async fn heartbeat(&self, worker: &WorkerCard) -> Result<Fleet, StoreError> {
        (**self).heartbeat(worker).await
    }
}

const fn _object_safe(_: &dyn OutboxStore) {}
