//! Cases about the very instants at which claims of single records begin and end, for a store by a
//! supplied clock.

use outbox_core::ClaimRefused;

use super::claimant::{Claimant, told};
use super::clock::{ALMOST_AN_HOUR, MICROSECOND};
use super::fixture::ClaimsFixture;
use super::outbox::{Outbox, only};
use super::sample::{HOUR, message};

/// At the very end of a claim it is void, and the record anybody's.
pub async fn a_claim_is_over_at_its_very_end(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage([message()]).await;
    let claim = claimant.claim(&claimant.outbox.read_one().await).await;
    claimant.outbox.pass(HOUR).await;

    claimant.assert_void(&claim).await;
    let taken_over = Claimant::new(fixture).try_claim(&claim.record, HOUR).await;

    assert_eq!(taken_over.map(|claim| claim.record), Ok(claim.record));
}

/// A microsecond before its end a claim is live, and keeps others away.
pub async fn a_claim_is_live_a_microsecond_before_its_end(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage([message()]).await;
    let claim = claimant.claim(&claimant.outbox.read_one().await).await;
    claimant.outbox.pass(ALMOST_AN_HOUR).await;

    let refusal = Claimant::new(fixture).refusal(&claim.record).await;
    let renewed = claimant.renew(&claim, HOUR).await;
    claimant.outbox.pass(ALMOST_AN_HOUR).await;
    let completed = claimant.complete(&claim).await;

    assert_eq!(refusal, ClaimRefused::Claimed { owner: claimant.owner });
    assert!(renewed && completed);
}

/// A record can be claimed from the very instant on at which it is due.
pub async fn a_record_is_claimed_from_its_very_instant_on(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage([message()]).await;
    let claim = claimant.claim(&claimant.outbox.read_one().await).await;
    claimant.fail(&claim, HOUR).await;

    claimant.outbox.pass(ALMOST_AN_HOUR).await;
    let refusal = claimant.refusal(&claim.record).await;
    claimant.outbox.pass(MICROSECOND).await;
    let claimed = claimant.try_claim(&claim.record, HOUR).await;

    assert_eq!(refusal, ClaimRefused::NotDue);
    assert_eq!(claimed.map(|claim| claim.record), Ok(claim.record));
}

/// A record can be claimed from the very end of its lane's lease on.
pub async fn a_record_is_claimed_from_the_end_of_its_lanes_lease_on(fixture: &dyn ClaimsFixture) {
    let owner = Outbox::holding_all(fixture).await;
    let claimant = Claimant::new(fixture);
    owner.stage([message()]).await;
    let record = owner.read_one().await.reference;

    owner.pass(ALMOST_AN_HOUR).await;
    let refusal = claimant.refusal(&record).await;
    owner.pass(MICROSECOND).await;
    let claimed = claimant.try_claim(&record, HOUR).await;

    assert_eq!(refusal, ClaimRefused::LaneLeased { owner: owner.owner });
    assert_eq!(claimed.map(|claim| claim.record), Ok(record));
}

/// A claim that fails makes its record due at the very end of the delay.
pub async fn a_failed_claim_is_due_at_the_very_end_of_its_delay(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage([message()]).await;
    let claim = claimant.claim(&claimant.outbox.read_one().await).await;
    claimant.fail(&claim, HOUR).await;
    let failed_at = fixture.now().await;

    claimant.outbox.pass(ALMOST_AN_HOUR).await;
    let before = claimant.outbox.read().await;
    claimant.outbox.pass(MICROSECOND).await;
    let at = claimant.outbox.read_one().await;

    assert_eq!(before, []);
    assert_eq!(at.available_at, Some(failed_at + HOUR));
    assert_eq!(at.first_failed_at, Some(failed_at));
}

/// An owner is told of a claim up to a microsecond before its end, and no more at the end.
pub async fn an_owner_is_told_of_a_claim_until_its_very_end(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage([message()]).await;
    let claim = claimant.claim(&claimant.outbox.read_one().await).await;
    let owner = Outbox::holding_all_for(fixture, HOUR * 2).await;

    owner.pass(ALMOST_AN_HOUR).await;
    let before = only(told(&owner).await);
    owner.pass(MICROSECOND).await;
    let at = told(&owner).await;

    assert_eq!((before.position, before.ends_in), (claim.record.position, MICROSECOND));
    assert_eq!(at, []);
}
