//! Cases about the figures of an outbox.
//!
//! A count may be exact, a lower bound or unknown; it must not contradict the truth, and nothing
//! but an exact zero may read as empty.

use std::time::Duration;

use outbox_core::{Count, OutboxStats, OutcomeKind, Schedule};

use super::fixture::StoreFixture;
use super::outbox::Outbox;
use super::sample::{HOUR, SHORT, dead, failed, message, scheduled};

/// An empty outbox has no ready record and no age.
pub async fn an_empty_outbox_counts_nothing(fixture: &dyn StoreFixture) {
    let stats = Outbox::new(fixture).stats().await;

    assert_counts(&stats, [0, 0, 0, 0, 0]);
    assert_eq!(stats.oldest_ready, None);
}

/// Due, scheduled, retrying and dead records are counted apart.
pub async fn records_are_counted_by_their_state(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage((0..6).map(|_| message())).await;
    outbox.stage([scheduled(message(), Schedule::After(HOUR))]).await;
    let records = outbox.read().await;
    let mut outcomes = vec![outbox.outcome(&records[0], OutcomeKind::Published)];
    outcomes.push(outbox.outcome(&records[1], dead()));
    outcomes.extend(records[2..4].iter().map(|record| outbox.outcome(record, failed(HOUR))));
    outbox.settle_all(&outcomes).await;

    let stats = outbox.stats().await;

    assert_counts(&stats, [2, 1, 2, 0, 1]);
}

/// A record that failed and is due again is ready and no longer retrying.
pub async fn a_retried_record_that_is_due_is_ready(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage([message()]).await;
    let record = outbox.read_one().await;
    outbox.settle(&record, failed(Duration::ZERO)).await;

    let stats = outbox.stats().await;

    assert_counts(&stats, [1, 0, 0, 0, 0]);
    assert!(stats.oldest_ready.is_some());
}

/// A lease hides no record from the count, and neither does a read.
pub async fn a_record_in_flight_counts_as_ready(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage([message()]).await;
    outbox.read_one().await;

    let stats = outbox.stats().await;

    assert_counts(&stats, [1, 0, 0, 0, 0]);
}

/// The age of a record that was due at once counts from its staging, by the store's clock.
pub async fn the_oldest_age_counts_from_staging(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let before = fixture.now().await;
    let mut staged = message();
    // The application's clock has no say in it.
    staged.message.occurred_at -= chrono::TimeDelta::days(1);
    outbox.stage([staged]).await;
    outbox.pass(SHORT).await;
    outbox.stage([message()]).await;

    let age = outbox.stats().await.oldest_ready.unwrap();

    let since_before = (fixture.now().await - before).to_std().unwrap();
    assert!(
        age >= SHORT && age <= since_before,
        "{age:?} is not from {SHORT:?} to {since_before:?}"
    );
}

/// The age of a scheduled record counts from the instant at which it became due.
pub async fn the_oldest_age_of_a_scheduled_record_counts_from_its_time(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let before = fixture.now().await;
    outbox.stage([scheduled(message(), Schedule::After(SHORT))]).await;
    outbox.pass(SHORT * 2).await;

    let age = outbox.stats().await.oldest_ready.unwrap();

    let since_before = (fixture.now().await - before).to_std().unwrap();
    assert!(age + SHORT <= since_before, "{age:?} counts from the staging {since_before:?} ago");
}

/// A record that waits has no age, and an empty backlog neither.
pub async fn a_record_that_waits_has_no_age(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    outbox.stage([scheduled(message(), Schedule::After(HOUR))]).await;

    let stats = outbox.stats().await;

    assert_eq!(stats.oldest_ready, None);
}

/// Whether a count may be given for this number.
pub(super) fn agrees(count: Count, truth: u64) -> bool {
    match count {
        Count::AtLeast(n) => n <= truth,
        Count::Exact(n) => n == truth,
        Count::Estimated(_) | Count::Unavailable => true,
    }
}

/// Compares with ready, scheduled, retrying, parked and dead.
fn assert_counts(stats: &OutboxStats, truths: [u64; 5]) {
    let counts = [stats.ready, stats.scheduled, stats.retrying, stats.parked, stats.dead];
    for (count, truth) in counts.into_iter().zip(truths) {
        assert!(agrees(count, truth), "expected {truths:?} in {stats:?}");
    }
}
