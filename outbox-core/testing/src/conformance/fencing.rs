//! Cases about settlements that have no right to be made.

use outbox_core::{EventId, LostLane, OutboxRecord, Outcome, OutcomeKind, Settled};

use super::fixture::StoreFixture;
use super::outbox::{Outbox, references, sorted};
use super::sample::{HOUR, SHORT, dead_head, failed, keyed, keyed_times, message, strangers};

/// A lease that was superseded settles nothing, whatever the outcome.
pub async fn a_superseded_lease_settles_nothing(fixture: &dyn StoreFixture) {
    let gone = Outbox::holding_all_for(fixture, SHORT).await;
    gone.stage(keyed_times("key", 3)).await;
    let records = gone.read().await;
    fixture.pass(SHORT).await;
    let current = Outbox::holding_all(fixture).await;

    let settled = gone.settle_all(&one_of_each(&gone, &records)).await;

    assert_nothing_settled(&settled);
    assert_eq!(current.read().await, records);
    assert_eq!(fixture.dead_letters().await, []);
}

/// A lease that has expired settles nothing, though nobody else took the lane.
pub async fn an_expired_lease_settles_nothing(fixture: &dyn StoreFixture) {
    let gone = Outbox::holding_all_for(fixture, SHORT).await;
    gone.stage(keyed_times("key", 3)).await;
    let records = gone.read().await;
    fixture.pass(SHORT).await;

    let settled = gone.settle_all(&one_of_each(&gone, &records)).await;

    assert_nothing_settled(&settled);
    assert_eq!(gone.read().await, records);
}

/// A lane that was given back settles nothing under its former lease.
pub async fn a_released_lease_settles_nothing(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage([message()]).await;
    let record = outbox.read_one().await;
    outbox.release(&outbox.leases).await;

    let settled = outbox.settle(&record, OutcomeKind::Published).await;

    assert_nothing_settled(&settled);
    assert_eq!(outbox.read_one().await, record);
}

/// A lost lane is named once, with the token that is no longer current.
pub async fn a_lost_lane_is_named_with_its_token(fixture: &dyn StoreFixture) {
    let gone = Outbox::holding_all_for(fixture, SHORT).await;
    gone.stage(keyed_times("key", 2)).await;
    let records = gone.read().await;
    fixture.pass(SHORT).await;
    let published = |record| gone.outcome(record, OutcomeKind::Published);
    let outcomes: Vec<Outcome> = records.iter().map(published).collect();

    let settled = gone.settle_all(&outcomes).await;

    let lost = LostLane { lane: outcomes[0].record.lane, token: outcomes[0].token };
    assert_eq!(settled.lost, [lost]);
}

/// A lost lane does not hold up the outcomes of the lanes that are held.
pub async fn a_lost_lane_does_not_hold_up_the_others(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    let (lost, held) = strangers();
    outbox.stage([keyed(&lost), keyed(&held)]).await;
    let [lost, held] = in_order_of_staging(outbox.read().await);
    let lost_lane: Vec<_> =
        outbox.leases.iter().filter(|lease| lease.lane == lost.reference.lane).copied().collect();
    outbox.release(&lost_lane).await;
    let outcomes = [&lost, &held].map(|record| outbox.outcome(record, OutcomeKind::Published));

    let settled = outbox.settle_all(&outcomes).await;

    assert_eq!(settled.applied, [held.reference]);
    assert_eq!(settled.lost.len(), 1);
    assert_eq!(outbox.read_one().await, lost);
}

/// The token of one lane gives no right in another.
pub async fn a_lease_gives_no_right_in_another_lane(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    let stranger = Outbox::new(fixture);
    outbox.stage([message()]).await;
    let record = outbox.read_one().await;
    let (own, foreign): (Vec<_>, Vec<_>) =
        outbox.leases.iter().partition(|lease| lease.lane == record.reference.lane);
    outbox.release(&own).await;
    // The lane is leased by another worker, so that its token differs for certain.
    assert_eq!(stranger.lease(1, HOUR).await.len(), 1);
    let mut outcome = outbox.outcome(&record, OutcomeKind::Published);
    outcome.token = foreign[0].token;

    let under_foreign_token = outbox.settle_all(&[outcome.clone()]).await;
    outcome.record.lane = foreign[0].lane;
    let at_foreign_place = outbox.settle_all(&[outcome]).await;

    assert_nothing_settled(&under_foreign_token);
    assert!(at_foreign_place.applied.is_empty(), "the record is not in that lane");
    assert_eq!(outbox.read_one().await, record);
}

/// An outcome whose event id is not the one at its position changes nothing.
pub async fn an_outcome_of_another_id_changes_nothing(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage(keyed_times("key", 3)).await;
    let records = outbox.read().await;
    let mut outcomes = one_of_each(&outbox, &records);
    for outcome in &mut outcomes {
        outcome.record.id = EventId::new();
    }

    let settled = outbox.settle_all(&outcomes).await;

    assert!(settled.applied.is_empty(), "nothing has that id");
    assert_eq!(outbox.read().await, records);
    assert_eq!(fixture.dead_letters().await, []);
}

/// An outcome under a revision that is not the record's changes nothing.
pub async fn an_outcome_under_another_revision_changes_nothing(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage(keyed_times("key", 3)).await;
    let records = outbox.read().await;
    let mut outcomes = one_of_each(&outbox, &records);
    for outcome in &mut outcomes {
        outcome.revision += 1;
    }

    let settled = outbox.settle_all(&outcomes).await;

    assert!(settled.applied.is_empty(), "nothing has that revision");
    assert_eq!(outbox.read().await, records);
    assert_eq!(fixture.dead_letters().await, []);
}

/// All outcomes of a lane take effect when its lease is held, of every kind at once.
pub async fn all_outcomes_of_a_held_lane_take_effect(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage(keyed_times("key", 3)).await;
    let records = outbox.read().await;

    let settled = outbox.settle_all(&one_of_each(&outbox, &records)).await;

    let by_position = |records: Vec<_>| {
        sorted(records.into_iter().map(|record: outbox_core::RecordRef| record.position))
    };
    assert_eq!(by_position(settled.applied), by_position(references(&records)));
    assert_eq!(settled.lost, []);
    assert_eq!(outbox.read().await, []);
    assert_eq!(fixture.dead_letters().await.len(), 1);
}

/// A publish, a failure and a death, of three records.
fn one_of_each(outbox: &Outbox<'_>, records: &[OutboxRecord]) -> Vec<Outcome> {
    let kinds = [OutcomeKind::Published, failed(HOUR), dead_head()];
    assert_eq!(records.len(), kinds.len(), "three records should be due");
    records.iter().zip(kinds).map(|(record, kind)| outbox.outcome(record, kind)).collect()
}

fn in_order_of_staging(mut records: Vec<OutboxRecord>) -> [OutboxRecord; 2] {
    records.sort_by_key(|record| record.reference.position);
    records.try_into().unwrap()
}

fn assert_nothing_settled(settled: &Settled) {
    assert!(settled.applied.is_empty(), "an outcome took effect");
    assert!(!settled.lost.is_empty(), "the lost lane is not named");
}
