//! Cases about claiming single records.

use std::collections::HashSet;

use futures_util::future::join_all;
use outbox_core::{ClaimRefused, EventId, OutcomeKind, Position, RecordRef, Schedule};

use super::claimant::Claimant;
use super::fixture::ClaimsFixture;
use super::outbox::Outbox;
use super::sample::{HOUR, SHORT, dead, dead_head, failed, keyed, keyed_times, message, scheduled};

/// A record that is due is claimed as it was read, and stays as it is.
pub async fn a_due_record_is_claimed_as_it_is(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage([message()]).await;
    let record = claimant.outbox.read_one().await;

    let claim = claimant.claim(&record).await;

    assert_eq!((claim.record, claim.revision), (record.reference, record.revision));
    assert_eq!(claimant.outbox.read_one().await, record);
}

/// Each claim has a token of its own, that of a record which was claimed before too.
pub async fn each_claim_has_a_fresh_token(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage([message(), message()]).await;
    let records = claimant.outbox.read().await;

    let mut tokens = HashSet::new();
    for _ in 0..2 {
        for record in &records {
            tokens.insert(claimant.claim_for(record, SHORT).await.token);
        }
        claimant.outbox.pass(SHORT).await;
    }

    assert_eq!(tokens.len(), 4);
}

/// Several records of a lane, even of one key, may be claimed at once, in any order.
pub async fn records_of_one_key_are_claimed_in_any_order(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage(keyed_times("key", 2)).await;
    let records = claimant.outbox.read().await;

    let second = claimant.claim(&records[1]).await;
    let first = claimant.claim(&records[0]).await;

    assert!(claimant.complete(&second).await);
    assert!(claimant.complete(&first).await);
}

/// A record under a live claim is claimed by nobody, its claimant included, who is named.
pub async fn a_claimed_record_is_refused_with_its_claimant(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage([message()]).await;
    let record = claimant.outbox.read_one().await;
    claimant.claim(&record).await;

    let refusals = [
        claimant.refusal(&record.reference).await,
        Claimant::new(fixture).refusal(&record.reference).await,
    ];

    assert_eq!(refusals, [ClaimRefused::Claimed { owner: claimant.owner }; 2]);
}

/// Whoever is refused does no harm to the claim that stands.
pub async fn a_refusal_leaves_the_claim_that_stands(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage([message()]).await;
    let claim = claimant.claim(&claimant.outbox.read_one().await).await;
    Claimant::new(fixture).refusal(&claim.record).await;

    let completed = claimant.complete(&claim).await;

    assert!(completed);
}

/// Of many who claim one record at once, one has it and the others learn who.
pub async fn a_record_is_claimed_by_one_of_many_at_once(fixture: &dyn ClaimsFixture) {
    let claimants: Vec<_> = (0..4).map(|_| Claimant::new(fixture)).collect();
    claimants[0].outbox.stage([message()]).await;
    let record = claimants[0].outbox.read_one().await.reference;

    let tried = join_all(claimants.iter().map(|one| one.try_claim(&record, HOUR))).await;

    let winners: Vec<_> = claimants.iter().zip(&tried).filter(|(_, tried)| tried.is_ok()).collect();
    assert_eq!(winners.len(), 1);
    let refusal = ClaimRefused::Claimed { owner: winners[0].0.owner };
    assert!(tried.iter().filter_map(|tried| tried.err()).all(|refused| refused == refusal));
}

/// A claim that is over is taken over by whoever asks, and void from then on.
pub async fn an_expired_claim_is_taken_over(fixture: &dyn ClaimsFixture) {
    let gone = Claimant::new(fixture);
    gone.outbox.stage([message()]).await;
    let record = gone.outbox.read_one().await;
    let old = gone.claim_for(&record, SHORT).await;
    gone.outbox.pass(SHORT).await;
    let current = Claimant::new(fixture);

    let new = current.claim(&record).await;

    gone.assert_void(&old).await;
    assert!(current.complete(&new).await);
}

/// A record that was sent, or never was there, is refused.
pub async fn a_record_that_is_not_there_is_refused(fixture: &dyn ClaimsFixture) {
    let owner = Outbox::holding_all(fixture).await;
    owner.stage([message()]).await;
    let sent = owner.read_one().await;
    owner.settle(&sent, OutcomeKind::Published).await;
    owner.release(&owner.leases).await;
    let never = RecordRef { position: Position(i64::MAX), ..sent.reference };
    let claimant = Claimant::new(fixture);

    let refusals = [claimant.refusal(&sent.reference).await, claimant.refusal(&never).await];

    assert_eq!(refusals, [ClaimRefused::Absent; 2]);
}

/// The reference must name the id of the record at its place.
pub async fn a_record_of_another_id_is_refused(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage([message()]).await;
    let record = claimant.outbox.read_one().await;
    let other = RecordRef { id: EventId::new(), ..record.reference };

    let refusal = claimant.refusal(&other).await;

    assert_eq!(refusal, ClaimRefused::Absent);
    claimant.claim(&record).await;
}

/// A dead record is not to be sent, so nobody claims it.
pub async fn a_dead_record_is_refused(fixture: &dyn ClaimsFixture) {
    let owner = Outbox::holding_all(fixture).await;
    owner.stage([message()]).await;
    let record = owner.read_one().await;
    owner.settle(&record, dead()).await;
    owner.release(&owner.leases).await;

    let refusal = Claimant::new(fixture).refusal(&record.reference).await;

    assert_eq!(refusal, ClaimRefused::Absent);
}

/// A record that waits for its next attempt is refused.
pub async fn a_record_that_is_not_due_is_refused(fixture: &dyn ClaimsFixture) {
    let owner = Outbox::holding_all(fixture).await;
    owner.stage([message()]).await;
    let record = owner.read_one().await;
    owner.settle(&record, failed(HOUR)).await;
    owner.release(&owner.leases).await;

    let refusal = Claimant::new(fixture).refusal(&record.reference).await;

    assert_eq!(refusal, ClaimRefused::NotDue);
}

/// A record that waited is claimed once its time has come.
pub async fn a_record_that_has_become_due_is_claimed(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage([scheduled(message(), Schedule::After(SHORT))]).await;
    claimant.outbox.pass(SHORT).await;
    let record = claimant.outbox.read_one().await;

    let claim = claimant.claim(&record).await;

    assert!(claimant.complete(&claim).await);
}

/// A record that was parked behind a dead one is refused.
pub async fn a_parked_record_is_refused(fixture: &dyn ClaimsFixture) {
    let owner = Outbox::holding_all(fixture).await;
    owner.stage(keyed_times("key", 2)).await;
    let records = owner.read().await;
    owner.settle(&records[0], dead_head()).await;
    owner.settle(&records[1], OutcomeKind::Parked).await;
    owner.release(&owner.leases).await;

    let refusal = Claimant::new(fixture).refusal(&records[1].reference).await;

    assert_eq!(refusal, ClaimRefused::Parked);
}

/// A record behind a dead one is refused before it was moved, however late it was staged.
pub async fn a_record_behind_a_dead_one_is_refused(fixture: &dyn ClaimsFixture) {
    let owner = Outbox::holding_all(fixture).await;
    owner.stage([keyed("key")]).await;
    owner.settle(&owner.read_one().await, dead_head()).await;
    owner.release(&owner.leases).await;
    owner.stage([keyed("key")]).await;
    let behind = owner.read_one().await;

    let refusal = Claimant::new(fixture).refusal(&behind.reference).await;

    assert_eq!(refusal, ClaimRefused::Parked);
    assert_eq!(owner.read_one().await, behind);
}
