//! Cases about claims of single records in lanes that are leased.

use outbox_core::{ClaimRefused, KeyRef, OutboxRecord, OutcomeKind, WaitingKey};

use super::claimant::{Claimant, told};
use super::fixture::ClaimsFixture;
use super::outbox::{Outbox, only, references, sorted};
use super::sample::{
    HOUR, SHORT, TOPIC, dead_head, failed, keyed, keyed_times, message, strangers,
};

/// A record whose lane is leased is refused, and the owner of the lane is named.
pub async fn a_record_of_a_leased_lane_is_refused_with_its_owner(fixture: &dyn ClaimsFixture) {
    let owner = Outbox::holding_all(fixture).await;
    owner.stage([message()]).await;
    let record = owner.read_one().await;

    let refusal = Claimant::new(fixture).refusal(&record.reference).await;

    assert_eq!(refusal, ClaimRefused::LaneLeased { owner: owner.owner });
    assert_eq!(told(&owner).await, []);
}

/// A record is claimed as soon as its lane was given back.
pub async fn a_record_of_a_lane_that_was_given_back_is_claimed(fixture: &dyn ClaimsFixture) {
    let owner = Outbox::holding_all(fixture).await;
    owner.stage([message()]).await;
    let record = owner.read_one().await;
    owner.release(&owner.leases).await;
    let claimant = Claimant::new(fixture);

    let claim = claimant.claim(&record).await;

    assert!(claimant.complete(&claim).await);
}

/// A record is claimed once the lease of its lane is over, though nobody took the lane.
pub async fn a_record_of_a_lane_whose_lease_is_over_is_claimed(fixture: &dyn ClaimsFixture) {
    let gone = Outbox::holding_all_for(fixture, SHORT).await;
    gone.stage([message()]).await;
    let record = gone.read_one().await;
    gone.pass(SHORT).await;
    let claimant = Claimant::new(fixture);

    let claim = claimant.claim(&record).await;

    let settled = gone.settle(&record, OutcomeKind::Published).await;
    assert_eq!(settled.applied, []);
    assert!(claimant.complete(&claim).await);
}

/// A lane may be leased while its records are claimed, and its new owner is told which, of which
/// key, and for how long, whoever opened the store.
pub async fn a_new_owner_is_told_which_records_are_claimed(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage([keyed("key"), message(), message()]).await;
    let records = claimant.outbox.read().await;
    let [ordered, unordered, _] = in_order_of_staging(records);
    claimant.claim(&ordered).await;
    claimant.claim(&unordered).await;

    let mut owner = Outbox::holding_all(fixture).await;
    owner.store = fixture.reopen().await;
    let mut told = told(&owner).await;

    told.sort_by_key(|claimed| claimed.position);
    let [first, second] = &told[..] else { panic!("two records are claimed: {told:?}") };
    assert_eq!(first.position, ordered.reference.position);
    assert_eq!(first.key, Some(KeyRef { topic: TOPIC.into(), key: "key".to_owned() }));
    assert_eq!((second.position, &second.key), (unordered.reference.position, &None));
    for claimed in [first, second] {
        let left = claimed.ends_in;
        assert!(left <= HOUR && left > HOUR / 2, "{left:?} are left");
    }
}

/// Claims are told with the lanes that they are in, and of no others.
pub async fn only_the_acquired_lanes_tell_their_claims(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    let (first, second) = strangers();
    claimant.outbox.stage([keyed(&first), keyed(&second)]).await;
    for record in claimant.outbox.read().await {
        claimant.claim(&record).await;
    }
    let owner = Outbox::holding_all(fixture).await;
    let of = |key: &str| {
        let lane = outbox_core::Lane::of_key(TOPIC, key);
        *owner.leases.iter().find(|lease| lease.lane == lane).unwrap()
    };

    let backwards = owner.store.acquired(&[of(&second), of(&first)]).await.unwrap();
    let alone = owner.store.acquired(&[of(&first)]).await.unwrap();

    let keys = |states: Vec<outbox_core::LaneState>| {
        let key = |state: outbox_core::LaneState| only(state.claimed).key.unwrap().key;
        states.into_iter().map(key).collect::<Vec<_>>()
    };
    assert_eq!(keys(backwards), [second, first.clone()]);
    assert_eq!(keys(alone), [first]);
}

/// A claim that is over is not told: then it is void, and its record the owner's.
pub async fn a_claim_that_is_over_is_the_owners(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage([message()]).await;
    let record = claimant.outbox.read_one().await;
    let claim = claimant.claim_for(&record, SHORT).await;
    let owner = Outbox::holding_all(fixture).await;
    claimant.outbox.pass(SHORT).await;

    let told = told(&owner).await;

    assert_eq!(told, []);
    claimant.assert_void(&claim).await;
    let settled = owner.settle(&record, OutcomeKind::Published).await;
    assert_eq!(settled.applied, [record.reference]);
}

/// No outcome of the lane's owner changes a record under a live claim; the lane is not lost.
pub async fn an_owner_settles_no_claimed_record(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage(keyed_times("key", 3)).await;
    let records = claimant.outbox.read().await;
    let mut claims = Vec::new();
    for record in &records {
        claims.push(claimant.claim(record).await);
    }
    let owner = Outbox::holding_all(fixture).await;
    let kinds = [OutcomeKind::Published, failed(HOUR), dead_head()];
    let each = records.iter().zip(kinds);
    let outcomes: Vec<_> = each.map(|(record, kind)| owner.outcome(record, kind)).collect();

    let together = owner.settle_all(&outcomes).await;
    let published = owner.settle(&records[0], OutcomeKind::Published).await;

    for settled in [together, published] {
        assert_eq!((settled.applied, settled.lost), (vec![], vec![]));
    }
    assert_eq!(owner.read().await, records);
    assert_eq!(fixture.dead_letters().await, []);
    for claim in &claims {
        assert!(claimant.complete(claim).await);
    }
}

/// A claim keeps no other record of its lane from being settled in the same call.
pub async fn an_owner_settles_what_is_not_claimed(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage(keyed_times("key", 3)).await;
    let records = claimant.outbox.read().await;
    claimant.claim(&records[1]).await;
    let owner = Outbox::holding_all(fixture).await;
    let published = |record| owner.outcome(record, OutcomeKind::Published);
    let outcomes: Vec<_> = records.iter().map(published).collect();

    let settled = owner.settle_all(&outcomes).await;

    let positions = |records: Vec<outbox_core::RecordRef>| {
        sorted(records.into_iter().map(|record| record.position))
    };
    let others = [records[0].clone(), records[2].clone()];
    assert_eq!(positions(settled.applied), positions(references(&others)));
    assert_eq!(owner.read_one().await, records[1]);
}

/// A claim is completed in a lane that was leased since, and told no more.
pub async fn a_claim_is_completed_in_a_leased_lane(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage([message()]).await;
    let record = claimant.outbox.read_one().await;
    let claim = claimant.claim(&record).await;
    let owner = Outbox::holding_all(fixture).await;

    let renewed = claimant.renew(&claim, HOUR * 2).await;
    let left = only(told(&owner).await).ends_in;
    let completed = claimant.complete(&claim).await;

    assert!(renewed && completed);
    assert!(left > HOUR, "the renewal is not told: {left:?}");
    assert_eq!(told(&owner).await, []);
    assert_eq!(owner.read().await, []);
}

/// A claim that fails in a lane that was leased since makes its key wait, as the owner is told.
pub async fn a_claim_that_fails_in_a_leased_lane_makes_its_key_wait(fixture: &dyn ClaimsFixture) {
    let claimant = Claimant::new(fixture);
    claimant.outbox.stage([keyed("key")]).await;
    let record = claimant.outbox.read_one().await;
    let claim = claimant.claim(&record).await;
    let owner = Outbox::holding_all(fixture).await;

    let failed = claimant.fail(&claim, HOUR).await;

    let states = owner.store.acquired(&owner.leases).await.unwrap();
    let waiting: Vec<WaitingKey> = states.into_iter().flat_map(|state| state.waiting).collect();
    assert!(failed);
    assert_eq!(only(waiting).head, record.reference.position);
    assert_eq!(told(&owner).await, []);
}

fn in_order_of_staging(mut records: Vec<OutboxRecord>) -> [OutboxRecord; 3] {
    records.sort_by_key(|record| record.reference.position);
    records.try_into().unwrap()
}
