//! Cases about records that wait behind a dead head of their key.

use outbox_core::{Count, KeyRef, LaneLease, OutboxRecord, OutcomeKind, RecordRef};

use super::fixture::StoreFixture;
use super::outbox::{Outbox, only};
use super::sample::{TOPIC, dead, dead_head, keyed, keyed_in, message, neighbours, strangers};
use super::stats::agrees;

/// A dead head parks its key: the owner of the lane is told so, with the dead letter.
pub async fn a_dead_head_parks_its_key(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage([keyed("key")]).await;
    let head = outbox.read_one().await;

    outbox.settle(&head, dead_head()).await;

    assert_eq!(parked_keys(&outbox).await, [(head.key().unwrap(), head.reference)]);
    assert_eq!(only(fixture.dead_letters().await).record, head.reference);
}

/// A death parks no key unless it is asked to.
pub async fn a_death_parks_no_key_unless_asked(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage([keyed("key")]).await;
    let head = outbox.read_one().await;

    outbox.settle(&head, dead()).await;

    assert_eq!(parked_keys(&outbox).await, []);
}

/// An unordered record has no key to park.
pub async fn an_unordered_record_parks_nothing(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    let mut staged = message();
    staged.message.partition_key = Some("key".to_owned());
    outbox.stage([staged]).await;
    let record = outbox.read_one().await;

    outbox.settle(&record, dead_head()).await;

    assert_eq!(parked_keys(&outbox).await, []);
    assert_eq!(fixture.dead_letters().await.len(), 1);
}

/// A record of a parked key leaves the hot table and is counted as parked, not as dead.
pub async fn a_record_of_a_parked_key_leaves_the_hot_table(fixture: &dyn StoreFixture) {
    let (outbox, later) = with_a_parked_key(fixture).await;

    let settled = outbox.settle(&later, OutcomeKind::Parked).await;

    assert_eq!(settled.applied, [later.reference]);
    assert_eq!(outbox.read().await, []);
    let stats = outbox.stats().await;
    assert!(agrees(stats.parked, 1), "{stats:?}");
    assert!(agrees(stats.dead, 1), "{stats:?}");
}

/// A record that was parked again stays parked once.
pub async fn parking_again_changes_nothing(fixture: &dyn StoreFixture) {
    let (outbox, later) = with_a_parked_key(fixture).await;
    outbox.settle(&later, OutcomeKind::Parked).await;

    let again = outbox.settle(&later, OutcomeKind::Parked).await;

    assert_eq!(again.applied, []);
    assert_eq!(again.lost, []);
    assert!(agrees(outbox.stats().await.parked, 1));
}

/// A record whose key is not parked, or no longer, stays to be sent.
pub async fn a_record_whose_key_is_free_is_not_parked(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage([keyed("key")]).await;
    let record = outbox.read_one().await;

    let settled = outbox.settle(&record, OutcomeKind::Parked).await;

    assert_eq!(settled.applied, []);
    assert_eq!(settled.lost, []);
    assert_eq!(outbox.read_one().await, record);
}

/// An unordered record is never parked.
pub async fn an_unordered_record_is_not_parked(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage([message()]).await;
    let record = outbox.read_one().await;

    let settled = outbox.settle(&record, OutcomeKind::Parked).await;

    assert_eq!(settled.applied, []);
    assert_eq!(outbox.read_one().await, record);
}

/// A parked key does not park another key of its lane.
pub async fn another_key_of_the_lane_is_not_parked(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    let (parked, free) = neighbours();
    outbox.stage([keyed(&parked), keyed(&free)]).await;
    let records = outbox.read().await;
    outbox.settle(&records[0], dead_head()).await;

    let settled = outbox.settle(&records[1], OutcomeKind::Parked).await;

    assert_eq!(settled.applied, []);
    assert_eq!(outbox.read_one().await, records[1]);
}

/// A parked key does not park the same word as a key of another topic.
pub async fn the_same_word_in_another_topic_is_not_parked(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage([keyed("key")]).await;
    let head = outbox.read_one().await;
    outbox.settle(&head, dead_head()).await;
    outbox.stage([keyed_in("payments", "key")]).await;
    let other = outbox.read_one().await;

    let settled = outbox.settle(&other, OutcomeKind::Parked).await;

    assert_eq!(settled.applied, []);
    let keys = parked_keys(&outbox).await;
    assert_eq!(keys, [(KeyRef { topic: TOPIC.into(), key: "key".to_owned() }, head.reference)]);
}

/// A key stays parked behind its first dead record when another of its records dies.
pub async fn a_second_death_leaves_the_key_parked(fixture: &dyn StoreFixture) {
    let (outbox, later) = with_a_parked_key(fixture).await;
    let before = parked_keys(&outbox).await;

    let settled = outbox.settle(&later, dead_head()).await;

    assert_eq!(settled.applied, [later.reference]);
    assert_eq!(parked_keys(&outbox).await, before);
    assert_eq!(fixture.dead_letters().await.len(), 2);
}

/// Keys are told lane by lane in the order of the leases, whatever that order is.
pub async fn lanes_are_told_in_the_order_of_the_leases(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    let (first, second) = strangers();
    outbox.stage([keyed(&first), keyed(&second)]).await;
    let heads = outbox.read().await;
    let outcomes: Vec<_> = heads.iter().map(|record| outbox.outcome(record, dead_head())).collect();
    outbox.settle_all(&outcomes).await;
    let mut leases = outbox.leases.clone();
    leases.sort_by_key(|lease| std::cmp::Reverse(lease.lane));

    let states = outbox.store.acquired(&leases).await.unwrap();

    assert_eq!(states.len(), leases.len());
    for (lease, state) in leases.iter().zip(states) {
        let found: Vec<RecordRef> = state.parked.into_iter().map(|(_, dead)| dead).collect();
        assert_eq!(found, dead_in(&heads, lease));
    }
}

/// Only the lanes that were asked for are told.
pub async fn only_the_acquired_lanes_are_told(fixture: &dyn StoreFixture) {
    let (outbox, later) = with_a_parked_key(fixture).await;
    let others: Vec<LaneLease> =
        outbox.leases.iter().filter(|lease| lease.lane != later.reference.lane).copied().collect();

    let states = outbox.store.acquired(&others).await.unwrap();

    assert_eq!(states.len(), 63);
    assert!(states.iter().all(|state| state.parked.is_empty()));
}

/// Records wait behind a dead head without being counted as ready.
pub async fn a_parked_record_is_not_ready(fixture: &dyn StoreFixture) {
    let (outbox, later) = with_a_parked_key(fixture).await;
    outbox.settle(&later, OutcomeKind::Parked).await;

    let stats = outbox.stats().await;

    assert!(agrees(stats.ready, 0), "{stats:?}");
    assert!(stats.parked != Count::Exact(0), "{stats:?}");
}

/// An outbox with a parked key and a later record of that key.
async fn with_a_parked_key(fixture: &dyn StoreFixture) -> (Outbox<'_>, OutboxRecord) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage([keyed("key"), keyed("key")]).await;
    let mut records = outbox.read().await;
    let later = records.remove(1);
    outbox.settle(&records[0], dead_head()).await;
    (outbox, later)
}

async fn parked_keys(outbox: &Outbox<'_>) -> Vec<(KeyRef, RecordRef)> {
    let states = outbox.store.acquired(&outbox.leases).await.unwrap();
    states.into_iter().flat_map(|state| state.parked).collect()
}

fn dead_in(heads: &[OutboxRecord], lease: &LaneLease) -> Vec<RecordRef> {
    let here = |record: &&OutboxRecord| record.reference.lane == lease.lane;
    heads.iter().filter(here).map(|record| record.reference).collect()
}
