//! One who claims single records of the outbox under test.

use std::sync::Arc;
use std::time::Duration;

use outbox_core::{
    ClaimRefused, ClaimedRecord, Failure, FailureKind, OutboxRecord, RecordClaim, RecordClaims,
    RecordRef, WorkerId,
};

use super::fixture::ClaimsFixture;
use super::outbox::{Outbox, lease_time};
use super::sample::HOUR;

/// A claimant, with a look at the outbox that holds no lane.
pub(super) struct Claimant<'f> {
    pub(super) outbox: Outbox<'f>,
    claims: Arc<dyn RecordClaims>,
    pub(super) owner: WorkerId,
}

impl<'f> Claimant<'f> {
    pub(super) fn new(fixture: &'f dyn ClaimsFixture) -> Self {
        let outbox = Outbox::new(fixture);
        Self { outbox, claims: fixture.claims(), owner: WorkerId::new() }
    }

    pub(super) async fn try_claim(
        &self,
        record: &RecordRef,
        time: Duration,
    ) -> Result<RecordClaim, ClaimRefused> {
        self.claims.try_claim(record, self.owner, lease_time(time)).await.unwrap()
    }

    /// Claims a record for an hour.
    pub(super) async fn claim(&self, record: &OutboxRecord) -> RecordClaim {
        self.claim_for(record, HOUR).await
    }

    pub(super) async fn claim_for(&self, record: &OutboxRecord, time: Duration) -> RecordClaim {
        self.try_claim(&record.reference, time).await.unwrap()
    }

    /// Why a record cannot be claimed.
    pub(super) async fn refusal(&self, record: &RecordRef) -> ClaimRefused {
        self.try_claim(record, HOUR).await.unwrap_err()
    }

    pub(super) async fn renew(&self, claim: &RecordClaim, time: Duration) -> bool {
        self.claims.renew_claim(claim, lease_time(time)).await.unwrap()
    }

    pub(super) async fn complete(&self, claim: &RecordClaim) -> bool {
        self.claims.complete_claim(claim).await.unwrap()
    }

    pub(super) async fn fail(&self, claim: &RecordClaim, delay: Duration) -> bool {
        self.fail_with(claim, "broker is away", delay).await
    }

    pub(super) async fn fail_with(
        &self,
        claim: &RecordClaim,
        summary: &str,
        delay: Duration,
    ) -> bool {
        let failure = Failure::new(FailureKind::Transient, summary);
        self.claims.fail_claim(claim, &failure, delay).await.unwrap()
    }

    /// No call about this claim does anything.
    pub(super) async fn assert_void(&self, claim: &RecordClaim) {
        assert!(!self.renew(claim, HOUR).await, "it was renewed");
        assert!(!self.complete(claim).await, "it was completed");
        assert!(!self.fail(claim, Duration::ZERO).await, "it failed");
    }
}

/// Claims that the owner of these lanes is told, of all lanes together.
pub(super) async fn told(owner: &Outbox<'_>) -> Vec<ClaimedRecord> {
    let states = owner.store.acquired(&owner.leases).await.unwrap();
    states.into_iter().flat_map(|state| state.claimed).collect()
}
