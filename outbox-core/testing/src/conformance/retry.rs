//! Cases about records that failed and are tried again.

use std::time::Duration;

use outbox_core::{OutboxRecord, OutcomeKind};

use super::fixture::StoreFixture;
use super::outbox::Outbox;
use super::sample::{HOUR, SHORT, failed, failed_with, keyed, message, neighbours};

/// A record that failed is not due before its delay ends.
pub async fn a_failed_record_waits_for_its_delay(fixture: &dyn StoreFixture) {
    let (outbox, record) = with_one_record(fixture).await;

    let settled = outbox.settle(&record, failed(HOUR)).await;

    assert_eq!(settled.applied, [record.reference]);
    assert_eq!(outbox.read().await, []);
}

/// A record that failed is due again when its delay ends, under the same reference.
pub async fn a_failed_record_is_due_after_its_delay(fixture: &dyn StoreFixture) {
    let (outbox, record) = with_one_record(fixture).await;
    outbox.settle(&record, failed(SHORT)).await;
    outbox.pass(SHORT).await;

    let again = outbox.read_one().await;

    assert_eq!(again.reference, record.reference);
    assert_eq!(again.message, record.message);
}

/// A delay counts from the store's clock at the settlement.
pub async fn a_retry_delay_counts_from_the_stores_clock(fixture: &dyn StoreFixture) {
    let (outbox, record) = with_one_record(fixture).await;
    let before = fixture.now().await;
    outbox.settle(&record, failed(SHORT)).await;
    let after = fixture.now().await;
    outbox.pass(SHORT).await;

    let due = outbox.read_one().await.available_at.unwrap();

    let rounding = Duration::from_millis(1);
    assert!(due + rounding >= before + SHORT && due <= after + SHORT + rounding);
}

/// A failure counts one attempt and raises the revision.
pub async fn a_failure_counts_one_attempt(fixture: &dyn StoreFixture) {
    let (outbox, record) = with_one_record(fixture).await;

    let first = fail_and_read(&outbox, &record).await;
    let second = fail_and_read(&outbox, &first).await;

    assert_eq!([record.attempts, first.attempts, second.attempts], [0, 1, 2]);
    assert!(record.revision < first.revision && first.revision < second.revision);
}

/// A failure that is reported again, under the same lease, counts once.
pub async fn a_repeated_failure_counts_once(fixture: &dyn StoreFixture) {
    let (outbox, record) = with_one_record(fixture).await;
    let failure = [outbox.outcome(&record, failed(Duration::ZERO))];
    outbox.settle_all(&failure).await;

    let again = outbox.settle_all(&failure).await;

    assert_eq!(again.applied, []);
    assert_eq!(again.lost, []);
    assert_eq!(outbox.read_one().await.attempts, 1);
}

/// A success of an earlier attempt that is reported late changes nothing.
pub async fn a_late_success_of_an_earlier_attempt_changes_nothing(fixture: &dyn StoreFixture) {
    let (outbox, record) = with_one_record(fixture).await;
    let again = fail_and_read(&outbox, &record).await;

    let late = outbox.settle(&record, OutcomeKind::Published).await;

    assert_eq!(late.applied, []);
    assert_eq!(late.lost, []);
    assert_eq!(outbox.read_one().await.revision, again.revision);
}

/// A later attempt may succeed.
pub async fn a_retried_record_may_be_published(fixture: &dyn StoreFixture) {
    let (outbox, record) = with_one_record(fixture).await;
    let again = fail_and_read(&outbox, &record).await;

    let settled = outbox.settle(&again, OutcomeKind::Published).await;

    assert_eq!(settled.applied, [record.reference]);
    assert_eq!(outbox.read().await, []);
}

/// The summary of the last failure is kept.
pub async fn the_last_failure_is_kept(fixture: &dyn StoreFixture) {
    let (outbox, record) = with_one_record(fixture).await;
    outbox.settle(&record, failed_with("first", Duration::ZERO)).await;
    let again = outbox.read_one().await;
    outbox.settle(&again, failed_with("second: ünï '\"", Duration::ZERO)).await;

    let last_error = outbox.read_one().await.last_error.unwrap();

    assert!(last_error.contains("second: ünï '\""), "{last_error:?}");
    assert!(!last_error.contains("first"), "{last_error:?}");
}

/// The instant of the first failure stays, and the time since is told by the store's clock.
pub async fn the_first_failure_keeps_its_instant(fixture: &dyn StoreFixture) {
    let (outbox, record) = with_one_record(fixture).await;
    let before = fixture.now().await;
    let first = fail_and_read(&outbox, &record).await;
    outbox.pass(SHORT).await;

    let second = fail_and_read(&outbox, &first).await;

    let since_before = (fixture.now().await - before).to_std().unwrap();
    assert!(first.first_failed_at.is_some());
    assert_eq!(second.first_failed_at, first.first_failed_at);
    assert!(second.failing_for >= SHORT, "failing for {:?}", second.failing_for);
    assert!(second.failing_for <= since_before, "failing for {:?}", second.failing_for);
}

/// Giving a lane back counts no attempt.
pub async fn a_release_counts_no_attempt(fixture: &dyn StoreFixture) {
    let (outbox, record) = with_one_record(fixture).await;

    outbox.release(&outbox.leases).await;

    assert_eq!(Outbox::holding_all(fixture).await.read_one().await, record);
}

/// A lease that expires counts no attempt.
pub async fn an_expired_lease_counts_no_attempt(fixture: &dyn StoreFixture) {
    let gone = Outbox::holding_all_for(fixture, SHORT).await;
    gone.stage([message()]).await;
    let record = gone.read_one().await;
    gone.pass(SHORT).await;

    let current = Outbox::holding_all(fixture).await;

    assert_eq!(current.read_one().await, record);
}

/// A new owner is told which keys of its lanes wait, for which record and how long.
pub async fn a_new_owner_is_told_which_keys_wait(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    let (waits, goes_on) = neighbours();
    outbox.stage([keyed(&waits), keyed(&goes_on), keyed(&waits)]).await;
    let records = outbox.read().await;
    outbox.settle(&records[0], failed(HOUR)).await;

    let states = outbox.store.acquired(&outbox.leases).await.unwrap();

    assert_eq!(states.len(), outbox.leases.len());
    for (lease, state) in outbox.leases.iter().zip(&states) {
        let here = lease.lane == records[0].reference.lane;
        assert_eq!(state.waiting.len(), usize::from(here), "in {:?}", lease.lane);
    }
    let waiting = states.iter().find_map(|state| state.waiting.first()).unwrap();
    assert_eq!(Some(&waiting.key), records[0].key().as_ref());
    assert_eq!(waiting.head, records[0].reference.position);
    assert!(waiting.due_in <= HOUR && waiting.due_in > HOUR / 2, "{:?}", waiting.due_in);
}

/// A key waits for its failed head also when that is due again: until it is sent, nothing behind it
/// may go.
pub async fn a_key_waits_for_a_head_that_is_due_again(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage([keyed("key")]).await;
    let head = outbox.read_one().await;
    outbox.settle(&head, failed(SHORT)).await;
    outbox.pass(SHORT * 2).await;

    let states = outbox.store.acquired(&outbox.leases).await.unwrap();

    let waiting: Vec<_> = states.iter().flat_map(|state| &state.waiting).collect();
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].head, head.reference.position);
    assert_eq!(waiting[0].due_in, Duration::ZERO);
}

/// Neither an unordered record that failed nor one that is scheduled makes a key wait.
pub async fn only_a_failed_head_makes_a_key_wait(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage([message()]).await;
    let unordered = outbox.read_one().await;
    outbox.settle(&unordered, failed(HOUR)).await;
    let later = super::sample::scheduled(keyed("key"), outbox_core::Schedule::After(HOUR));
    outbox.stage([later]).await;

    let states = outbox.store.acquired(&outbox.leases).await.unwrap();

    assert!(states.iter().all(|state| state.waiting.is_empty()));
}

async fn with_one_record(fixture: &dyn StoreFixture) -> (Outbox<'_>, OutboxRecord) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage([message()]).await;
    let record = outbox.read_one().await;
    (outbox, record)
}

/// The record after a failure that leaves it due at once.
async fn fail_and_read(outbox: &Outbox<'_>, record: &OutboxRecord) -> OutboxRecord {
    outbox.settle(record, failed(Duration::ZERO)).await;
    outbox.read_one().await
}
