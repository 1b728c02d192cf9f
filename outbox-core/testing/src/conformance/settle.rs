//! Cases about writing what became of records.

use std::collections::HashSet;

use futures_util::FutureExt;
use outbox_core::{OutboxRecord, Outcome, OutcomeKind, RecordRef};

use super::fixture::StoreFixture;
use super::outbox::{Outbox, references};
use super::sample::{HOUR, failed, keyed, message, strangers};

/// A published record is gone.
pub async fn a_published_record_is_gone(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage([message()]).await;
    let record = outbox.read_one().await;

    outbox.settle(&record, OutcomeKind::Published).await;

    assert_eq!(outbox.read().await, []);
    assert_eq!(fixture.dead_letters().await, []);
}

/// A settlement names the records whose outcome took effect, and loses no lane that is held.
pub async fn a_settlement_names_what_took_effect(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    let (first, second) = strangers();
    outbox.stage([keyed(&first), keyed(&second), keyed(&first)]).await;
    let records = outbox.read().await;

    let settled = outbox.settle_all(&published(&outbox, &records)).await;

    assert_eq!(set(&settled.applied), set(&references(&records)));
    assert_eq!(settled.applied.len(), 3);
    assert_eq!(settled.lost, []);
}

/// Records that are not named are left alone.
pub async fn a_record_that_is_not_named_stays(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage([keyed("key"), keyed("key"), keyed("key")]).await;
    let records = outbox.read().await;

    outbox.settle(&records[1], OutcomeKind::Published).await;

    assert_eq!(references(&outbox.read().await), [records[0].reference, records[2].reference]);
}

/// Records of many lanes are settled in one call.
pub async fn many_lanes_are_settled_in_one_call(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage((0..200).map(|_| message())).await;
    let records = outbox.read().await;

    let settled = outbox.settle_all(&published(&outbox, &records)).await;

    assert_eq!(records.len(), 200);
    assert_eq!(set(&settled.applied), set(&references(&records)));
    assert_eq!(outbox.read().await, []);
}

/// Repeating a settlement is harmless: nothing takes effect and no lane is lost.
pub async fn repeating_a_settlement_is_harmless(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage([keyed("key"), keyed("key")]).await;
    let records = outbox.read().await;
    outbox.settle(&records[0], OutcomeKind::Published).await;

    let again = outbox.settle(&records[0], OutcomeKind::Published).await;

    assert_eq!(again.applied, []);
    assert_eq!(again.lost, []);
    assert_eq!(references(&outbox.read().await), [records[1].reference]);
}

/// A settlement of nothing is harmless.
pub async fn settling_nothing_is_harmless(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage([message()]).await;

    let settled = outbox.settle_all(&[]).await;

    assert_eq!(settled.applied, []);
    assert_eq!(settled.lost, []);
    outbox.read_one().await;
}

/// Of two records of one event only the one that is named is settled.
pub async fn another_record_of_the_same_event_stays(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    let staged = message();
    outbox.stage([staged.clone(), staged]).await;
    let records = outbox.read().await;

    outbox.settle(&records[0], OutcomeKind::Published).await;

    assert_eq!(outbox.read_one().await, records[1]);
}

/// What one store settled is settled for every store: a call that returned is durable.
pub async fn a_settlement_holds_for_every_store(fixture: &dyn StoreFixture) {
    let mut outbox = Outbox::holding_all(fixture).await;
    outbox.stage([keyed("key"), keyed("key"), keyed("key")]).await;
    let records = outbox.read().await;
    outbox.settle(&records[0], OutcomeKind::Published).await;
    outbox.settle(&records[1], failed(HOUR)).await;

    outbox.store = fixture.reopen().await;

    assert_eq!(outbox.read_one().await, records[2]);
}

/// A call that was dropped may have taken effect or not; repeating it settles the matter.
pub async fn a_dropped_settlement_may_be_repeated(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage([message(), message()]).await;
    let records = outbox.read().await;
    let outcomes = [
        outbox.outcome(&records[0], OutcomeKind::Published),
        outbox.outcome(&records[1], failed(HOUR)),
    ];
    // Polled once and dropped wherever it stands.
    _ = outbox.store.settle(&outcomes).now_or_never();

    let settled = outbox.settle_all(&outcomes).await;

    assert_eq!(settled.lost, []);
    assert_eq!(outbox.read().await, []);
    assert_eq!(outbox.settle_all(&outcomes).await.applied, []);
}

fn published(outbox: &Outbox<'_>, records: &[OutboxRecord]) -> Vec<Outcome> {
    records.iter().map(|record| outbox.outcome(record, OutcomeKind::Published)).collect()
}

fn set(records: &[RecordRef]) -> HashSet<RecordRef> {
    records.iter().copied().collect()
}
