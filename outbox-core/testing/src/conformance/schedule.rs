//! Cases about records that are due later.

use std::num::NonZeroU32;
use std::time::Duration;

use chrono::{SubsecRound, TimeDelta};
use outbox_core::{LaneRead, Position, ReadRequest, Schedule, StagedMessage};

use super::fixture::StoreFixture;
use super::outbox::{Outbox, ids, sorted, staged_ids};
use super::sample::{HOUR, SHORT, failed, keyed, message, scheduled};

/// A record that is due after a delay is not read before.
pub async fn a_delayed_record_is_not_read_before_its_time(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    outbox.stage([scheduled(message(), Schedule::After(HOUR))]).await;

    let records = outbox.read().await;

    assert_eq!(records, []);
}

/// A record is due from the instant on at which its delay ends.
pub async fn a_delayed_record_is_read_when_it_is_due(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let staged = scheduled(message(), Schedule::After(SHORT));
    outbox.stage([staged.clone()]).await;
    outbox.pass(SHORT).await;

    let record = outbox.read_one().await;

    assert_eq!(record.reference.id, staged.message.id);
    assert_eq!(record.attempts, 0);
}

/// A record that is due at an instant of the store's clock is not read before.
pub async fn a_scheduled_record_is_not_read_before_its_instant(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let instant = fixture.now().await + HOUR;
    outbox.stage([scheduled(message(), Schedule::At(instant))]).await;

    let records = outbox.read().await;

    assert_eq!(records, []);
}

/// A record that is due at an instant of the store's clock is read from that instant on.
pub async fn a_scheduled_record_is_read_from_its_instant_on(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let instant = fixture.now().await + SHORT;
    let staged = scheduled(message(), Schedule::At(instant));
    outbox.stage([staged.clone()]).await;
    outbox.pass(SHORT).await;

    let records = outbox.read().await;

    assert_eq!(ids(&records), [staged.message.id]);
}

/// An instant that has passed makes a record due at once.
pub async fn an_instant_that_has_passed_is_due_at_once(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let instant = fixture.now().await - TimeDelta::hours(1);
    let staged = scheduled(message(), Schedule::At(instant));
    outbox.stage([staged.clone()]).await;

    let records = outbox.read().await;

    assert_eq!(ids(&records), [staged.message.id]);
}

/// A record that becomes due behind the floor is read: the floor hides none that waited.
pub async fn a_record_that_becomes_due_behind_the_floor_is_read(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let (later, plain) = (scheduled(keyed("key"), Schedule::After(SHORT)), keyed("key"));
    outbox.stage([later.clone(), plain.clone()]).await;
    let request = above_everything(&plain);
    outbox.pass(SHORT).await;

    let batch = outbox.read_as(&request).await;

    assert_eq!(ids(&batch.records), [later.message.id]);
}

/// A record that failed is read again behind the floor.
pub async fn a_retried_record_behind_the_floor_is_read(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    let staged = keyed("key");
    outbox.stage([staged.clone()]).await;
    let record = outbox.read_one().await;
    outbox.settle(&record, failed(SHORT)).await;
    outbox.pass(SHORT).await;

    let batch = outbox.read_as(&above_everything(&staged)).await;

    assert_eq!(ids(&batch.records), [staged.message.id]);
}

/// Records that waited and are due come first, each kind in order of position.
pub async fn due_records_that_waited_come_first(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let waited = |delay| scheduled(keyed("key"), Schedule::After(delay));
    let messages = vec![keyed("key"), waited(SHORT), keyed("key"), waited(SHORT / 2)];
    outbox.stage(messages.clone()).await;
    outbox.pass(SHORT).await;

    let records = outbox.read().await;

    let expected = [1, 3, 0, 2].map(|index: usize| messages[index].clone());
    assert_eq!(ids(&records), staged_ids(&expected));
}

/// A budget takes scheduled and retried records that are due for longest, whatever their positions,
/// before any that never waited.
pub async fn what_is_due_for_longest_is_taken_first(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    let (retried, now) = (keyed("key"), fixture.now().await.trunc_subsecs(6));
    let waited = |hours| scheduled(keyed("key"), Schedule::At(now - HOUR * hours));
    outbox.stage([retried.clone()]).await;
    outbox.settle(&outbox.read_one().await, failed(Duration::ZERO)).await;
    let messages = [keyed("key"), waited(1), waited(3), waited(2)];
    outbox.stage(messages.clone()).await;
    let [new, least, longest, middle] = messages;
    outbox.pass(SHORT).await;

    let by_due = [longest, middle, least, retried, new];
    for records in 1..=5 {
        let request =
            ReadRequest { records: NonZeroU32::new(records).unwrap(), ..Outbox::read_request() };
        let batch = outbox.read_as(&request).await;

        let taken = &by_due[..usize::try_from(records).unwrap()];
        assert_eq!(sorted(ids(&batch.records)), sorted(staged_ids(taken)));
    }
}

/// A known record is left out although it waited.
pub async fn a_known_record_that_waited_is_left_out(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    outbox.stage([scheduled(message(), Schedule::After(SHORT))]).await;
    outbox.pass(SHORT).await;
    let known = vec![outbox.read_one().await.reference.position];

    let batch = outbox.read_as(&ReadRequest { known, ..Outbox::read_request() }).await;

    assert!(batch.is_empty());
}

/// The application's delivery time is part of the message, and a failure does not change it.
pub async fn a_failure_does_not_change_the_delivery_time(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    let instant = (fixture.now().await - TimeDelta::hours(1)).trunc_subsecs(6);
    outbox.stage([scheduled(message(), Schedule::At(instant))]).await;
    let before = outbox.read_one().await;
    outbox.settle(&before, failed(Duration::ZERO)).await;

    let after = outbox.read_one().await;

    assert_eq!(before.message.deliver_at, Some(instant));
    assert_eq!(after.message.deliver_at, Some(instant));
    assert!(after.available_at > before.available_at, "the failure did not move the record");
}

/// A delay counts from the store's clock at staging.
pub async fn a_delay_counts_from_the_stores_clock(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let before = fixture.now().await;
    outbox.stage([scheduled(message(), Schedule::After(SHORT))]).await;
    let after = fixture.now().await;
    outbox.pass(SHORT).await;

    let record = outbox.read_one().await;

    let due = record.message.deliver_at.unwrap();
    let rounding = Duration::from_millis(1);
    assert!(due + rounding >= before + SHORT && due <= after + SHORT + rounding);
}

/// A read of the message's lane from the last position that there is.
fn above_everything(staged: &StagedMessage) -> ReadRequest {
    let lane = LaneRead::new(staged.message.lane(), Position(i64::MAX));
    ReadRequest { lanes: vec![lane], ..Outbox::read_request() }
}
