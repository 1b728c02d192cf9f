//! The right to send one record, outside of a lane's lease.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::error::StoreError;
use crate::failure::Failure;
use crate::id::{ClaimToken, WorkerId};
use crate::lease::LeaseTime;
use crate::record::RecordRef;

/// An exclusive, time-limited right to send one record and to say once how that ended.
///
/// Record, token and revision together are unique for one attempt: the token is fresh for each claim
/// and void once the claim is completed, failed or over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecordClaim {
    /// Which record.
    pub record: RecordRef,
    /// Fencing token that every call about the claim must name.
    pub token: ClaimToken,
    /// The record's revision when it was claimed: one that was read under another has changed since.
    pub revision: i32,
}

/// Why a record was not claimed. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum ClaimRefused {
    /// No such record is to be sent: it was sent, is dead, or never was there under this id.
    #[error("there is no such record to be sent")]
    Absent,
    /// It is under a live claim.
    #[error("the record is claimed by {owner}")]
    Claimed {
        /// Who holds the claim.
        owner: WorkerId,
    },
    /// Its lane is under a live lease, whose owner sends it.
    #[error("the lane of the record is leased by {owner}")]
    LaneLeased {
        /// Who holds the lane.
        owner: WorkerId,
    },
    /// The time from which it may be sent has not come.
    #[error("the record is not due")]
    NotDue,
    /// Its key is parked behind a dead record.
    #[error("the key of the record is parked")]
    Parked,
}

/// Claims single records of one outbox, for manual dispatch.
///
/// A store need not have it: a dispatcher leases whole lanes, which costs a record nothing. Claims
/// and leases exclude each other. While a lane is leased, none of its records can be claimed; whoever
/// leases a lane leaves records under a live claim alone, as
/// [`acquired`](crate::OutboxStore::acquired) tells it, and sends one only after the claim's end,
/// once the claim itself is deleted.
///
/// A claim gives no order. Any record that is due can be claimed, whatever else of its key waits:
/// whoever sends records of one key by claims sends them in an order of its own.
///
/// As with a lease, a claim that runs out during the send repeats the record (LEASE): check the time
/// that is left before sending.
#[async_trait]
pub trait RecordClaims: Debug + Send + Sync {
    /// Claims a record that is due, under a fresh token.
    ///
    /// The reference must name the record's id too. A claim that is over is taken over. A refusal
    /// says why, and who is in the way.
    async fn try_claim(
        &self,
        record: &RecordRef,
        owner: WorkerId,
        lease: LeaseTime,
    ) -> Result<Result<RecordClaim, ClaimRefused>, StoreError>;

    /// Extends a live claim and never shortens it; false if it is not live, or another's.
    async fn renew_claim(&self, claim: &RecordClaim, lease: LeaseTime) -> Result<bool, StoreError>;

    /// Settles the record as published and ends the claim.
    ///
    /// False if the claim is not live, or another's: then nothing was written, and the record may be
    /// sent again.
    async fn complete_claim(&self, claim: &RecordClaim) -> Result<bool, StoreError>;

    /// Counts a failed attempt, keeps its error, makes the record due again after `delay` by the
    /// store's clock, and ends the claim.
    ///
    /// False if the claim is not live, or another's: then nothing was written. So a repetition counts
    /// nothing.
    async fn fail_claim(
        &self,
        claim: &RecordClaim,
        failure: &Failure,
        delay: Duration,
    ) -> Result<bool, StoreError>;
}

#[async_trait]
impl<S: RecordClaims + ?Sized> RecordClaims for Arc<S> {
    async fn try_claim(
        &self,
        record: &RecordRef,
        owner: WorkerId,
        lease: LeaseTime,
    ) -> Result<Result<RecordClaim, ClaimRefused>, StoreError> {
        (**self).try_claim(record, owner, lease).await
    }

    async fn renew_claim(&self, claim: &RecordClaim, lease: LeaseTime) -> Result<bool, StoreError> {
        (**self).renew_claim(claim, lease).await
    }

    async fn complete_claim(&self, claim: &RecordClaim) -> Result<bool, StoreError> {
        (**self).complete_claim(claim).await
    }

    async fn fail_claim(
        &self,
        claim: &RecordClaim,
        failure: &Failure,
        delay: Duration,
    ) -> Result<bool, StoreError> {
        (**self).fail_claim(claim, failure, delay).await
    }
}

const fn _object_safe(_: &dyn RecordClaims) {}
