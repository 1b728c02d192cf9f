//! Cases about how claims of single records end.

use std::time::Duration;

use outbox_core::{ClaimRefused, ClaimToken, EventId, RecordClaim, RecordRef, StoreErrorKind};
use outbox_core::{Failure, FailureKind};

use super::claimant::Claimant;
use super::fixture::ClaimsFixture;
use super::outbox::{lease_time, only};
use super::sample::{HOUR, SHORT, message};

/// A claim that was renewed is live beyond the end that it had at first.
pub async fn a_renewed_claim_outlives_its_first_end(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage([message()]).await;
    let claim = claimant.claim_for(&claimant.outbox.read_one().await, SHORT * 4).await;
    let renewed = claimant.renew(&claim, HOUR).await;
    claimant.outbox.pass(SHORT * 4).await;

    let refusal = Claimant::new(fixture).refusal(&claim.record).await;

    assert!(renewed);
    assert_eq!(refusal, ClaimRefused::Claimed { owner: claimant.owner });
    assert!(claimant.complete(&claim).await);
}

/// A renewal for less than what is left changes nothing, and is no loss.
pub async fn a_renewal_never_shortens_a_claim(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage([message()]).await;
    let claim = claimant.claim(&claimant.outbox.read_one().await).await;
    let renewed = claimant.renew(&claim, SHORT).await;
    claimant.outbox.pass(SHORT).await;

    let completed = claimant.complete(&claim).await;

    assert!(renewed && completed);
}

/// A record whose claim was completed is gone, and no other is.
pub async fn a_completed_record_is_gone(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage([message(), message()]).await;
    let records = claimant.outbox.read().await;
    let claim = claimant.claim(&records[0]).await;

    let completed = claimant.complete(&claim).await;

    assert!(completed);
    assert_eq!(claimant.outbox.read().await, records[1..]);
    assert_eq!(claimant.refusal(&claim.record).await, ClaimRefused::Absent);
}

/// A failure counts one attempt, keeps its error, and raises the revision.
pub async fn a_failed_claim_counts_one_attempt(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage([message()]).await;
    let before = claimant.outbox.read_one().await;
    let claim = claimant.claim(&before).await;

    let failed = claimant.fail_with(&claim, "broker is away", Duration::ZERO).await;

    let after = claimant.outbox.read_one().await;
    assert!(failed);
    assert_eq!(after.attempts, 1);
    assert_eq!(after.last_error.as_deref(), Some("broker is away"));
    assert!(after.first_failed_at.is_some());
    assert!(after.revision > before.revision, "an outcome of the earlier attempt would match");
}

/// A record whose claim failed waits for its delay, by the store's clock.
pub async fn a_failed_claim_waits_for_its_delay(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage([message(), message()]).await;
    let records = claimant.outbox.read().await;
    for (record, delay) in records.iter().zip([SHORT, HOUR]) {
        let claim = claimant.claim(record).await;
        assert!(claimant.fail(&claim, delay).await);
    }
    claimant.outbox.pass(SHORT).await;

    let due = claimant.outbox.read().await;

    assert_eq!(only(due).reference, records[0].reference);
    assert_eq!(claimant.refusal(&records[1].reference).await, ClaimRefused::NotDue);
}

/// A record whose claim failed may be claimed again; the first failure keeps its instant.
pub async fn a_failed_claim_frees_its_record(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage([message()]).await;
    let first = claimant.claim(&claimant.outbox.read_one().await).await;
    claimant.fail_with(&first, "first", Duration::ZERO).await;
    let after_first = claimant.outbox.read_one().await;
    let second = claimant.claim(&after_first).await;

    let failed = claimant.fail_with(&second, "second", Duration::ZERO).await;

    let after_second = claimant.outbox.read_one().await;
    assert!(failed);
    assert_eq!(second.revision, after_first.revision);
    assert_eq!(after_second.attempts, 2);
    assert_eq!(after_second.last_error.as_deref(), Some("second"));
    assert_eq!(after_second.first_failed_at, after_first.first_failed_at);
}

/// Nothing can be said under a claim that has failed, so a repetition counts nothing.
pub async fn a_failed_claim_is_void(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage([message()]).await;
    let claim = claimant.claim(&claimant.outbox.read_one().await).await;
    claimant.fail(&claim, Duration::ZERO).await;
    let record = claimant.outbox.read_one().await;

    claimant.assert_void(&claim).await;

    let after = claimant.outbox.read_one().await;
    assert_eq!((after.attempts, after.revision), (1, record.revision));
    assert_eq!(after.available_at, record.available_at);
    claimant.claim(&record).await;
    claimant.assert_void(&claim).await;
}

/// Nothing can be said under a claim that was completed, and saying it again is harmless.
pub async fn a_completed_claim_is_void(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage([message()]).await;
    let claim = claimant.claim(&claimant.outbox.read_one().await).await;
    claimant.complete(&claim).await;

    claimant.assert_void(&claim).await;

    assert_eq!(claimant.outbox.read().await, []);
}

/// Nothing can be said under a claim that is over, though nobody else took the record.
pub async fn an_expired_claim_is_void(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage([message()]).await;
    let record = claimant.outbox.read_one().await;
    let claim = claimant.claim_for(&record, SHORT).await;
    claimant.outbox.pass(SHORT).await;

    claimant.assert_void(&claim).await;

    assert_eq!(claimant.outbox.read_one().await, record);
}

/// A token that no store gave has no right, and does no harm to the claim that stands.
pub async fn an_invented_claim_is_void(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage([message()]).await;
    let record = claimant.outbox.read_one().await;
    let claim = claimant.claim(&record).await;

    claimant.assert_void(&RecordClaim { token: ClaimToken::new(), ..claim }).await;

    assert_eq!(claimant.outbox.read_one().await, record);
    assert!(claimant.complete(&claim).await);
}

/// A claim is good for its own record alone: place, id and revision must be those of the attempt.
pub async fn a_claim_is_void_for_any_other_record(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage([message(), message()]).await;
    let records = claimant.outbox.read().await;
    let claim = claimant.claim(&records[0]).await;
    let other = claimant.claim(&records[1]).await;
    let another_id = RecordRef { id: EventId::new(), ..claim.record };

    claimant.assert_void(&RecordClaim { record: other.record, ..claim }).await;
    claimant.assert_void(&RecordClaim { record: another_id, ..claim }).await;
    let under_another_revision = RecordClaim { revision: claim.revision + 1, ..claim };
    assert!(!claimant.complete(&under_another_revision).await, "the record was another then");
    assert!(!claimant.fail(&under_another_revision, HOUR).await, "the record was another then");

    assert_eq!(claimant.outbox.read().await, records);
    assert!(claimant.complete(&claim).await && claimant.complete(&other).await);
}

/// What ends beyond the calendar is refused or cut, be it a claim, its renewal or its delay.
pub async fn a_claim_beyond_the_calendar_is_refused_or_cut(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage([message(), message()]).await;
    let records = claimant.outbox.read().await;
    let endless = lease_time(Duration::MAX);
    let failure = Failure::new(FailureKind::Transient, "broker is away");
    let claims = fixture.claims();
    let claim = claimant.claim(&records[0]).await;

    let claimed = claims.try_claim(&records[1].reference, claimant.owner, endless).await;
    let renewed = claims.renew_claim(&claim, endless).await;
    let failed = claims.fail_claim(&claim, &failure, Duration::MAX).await;

    let claimed = claimed.map(|claimed| claimed.is_ok());
    for answer in [claimed, renewed, failed] {
        match answer {
            Ok(done) => assert!(done, "it was neither refused nor done"),
            Err(error) => assert_eq!(error.kind(), StoreErrorKind::InvalidArgument),
        }
    }
}
