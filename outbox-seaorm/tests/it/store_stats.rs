//! Counting what waits.

use std::time::Duration;

use outbox_core::{Count, DeadReason, OutboxStore, StoreErrorKind};

use crate::database::TestDatabase;
use crate::on_all;
use crate::store_fixture::{HOUR, Outbox, SECOND, outcome, sample};

on_all!(store_stats:
    a_long_backlog_is_counted_up_to_a_bound,
    a_table_that_is_missing_is_an_error_and_not_a_zero,
    an_empty_outbox_is_surely_empty,
    every_record_is_counted_as_what_it_is,
    the_oldest_age_counts_from_when_a_record_became_due,
    what_no_outcome_could_name_and_newer_formats_are_counted_as_ready,
    what_was_staged_by_a_slow_writer_is_not_older_than_its_row,
);

async fn an_empty_outbox_is_surely_empty(database: TestDatabase) {
    let outbox = Outbox::new(database);

    let stats = outbox.store.stats().await.unwrap();

    let counts = [stats.ready, stats.scheduled, stats.retrying, stats.parked, stats.dead];
    assert_eq!(counts, [Count::Exact(0); 5]);
    assert_eq!(stats.oldest_ready, None);
}

async fn every_record_is_counted_as_what_it_is(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(2).await;
    let later = outbox.instant(Some(HOUR));
    outbox.fill(0, 3).await;
    outbox.insert(sample(1).with("available_at", &outbox.instant(Some(0)))).await;
    for _ in 0..2 {
        outbox.insert(sample(1).with("available_at", &later)).await;
    }
    outbox.insert(sample(2).with("available_at", &later).with("attempts", "1")).await;
    let head = outbox.insert(sample(1).key("a")).await;
    let next = outbox.insert(sample(1).key("a")).await;
    let kind = outbox_core::OutcomeKind::Dead {
        reason: DeadReason::Rejected,
        error: "too large".to_owned(),
        parks_key: true,
    };
    let parked = outcome(&leases[1], next, outbox_core::OutcomeKind::Parked);
    outbox.settle(&[outcome(&leases[1], head, kind), parked]).await;

    let stats = outbox.store.stats().await.unwrap();

    assert_eq!(stats.ready, Count::Exact(4), "lane 0 is leased and still ready");
    assert_eq!(stats.scheduled, Count::Exact(2));
    assert_eq!(stats.retrying, Count::Exact(1));
    assert_eq!(stats.parked, Count::Exact(1));
    assert_eq!(stats.dead, Count::Exact(1));
}

async fn what_no_outcome_could_name_and_newer_formats_are_counted_as_ready(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let nil = if outbox.is_postgres() {
        "'00000000-0000-0000-0000-000000000000'"
    } else {
        "x'00000000000000000000000000000000'"
    };
    outbox.insert(sample(0).with("format", "99")).await;
    outbox.insert(sample(0).with("id", nil)).await;

    let stats = outbox.store.stats().await.unwrap();

    assert_eq!(stats.ready, Count::Exact(2));
}

async fn the_oldest_age_counts_from_when_a_record_became_due(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let ago = |seconds: i64| outbox.instant(Some(-seconds * SECOND));
    outbox.insert(sample(0).with("created_at", &ago(100))).await;
    let scheduled = sample(0).with("created_at", &ago(9000)).with("available_at", &ago(500));
    outbox.insert(scheduled).await;
    let waiting = sample(0).with("created_at", &ago(9000));
    outbox.insert(waiting.with("available_at", &outbox.instant(Some(HOUR)))).await;

    let stats = outbox.store.stats().await.unwrap();

    let oldest = stats.oldest_ready.unwrap().as_secs();
    assert!((500..560).contains(&oldest), "{oldest}");
}

async fn what_was_staged_by_a_slow_writer_is_not_older_than_its_row(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let long_ago = outbox.instant(Some(-HOUR));
    outbox.insert(sample(0).with("available_at", &long_ago).with("occurred_at", &long_ago)).await;

    let stats = outbox.store.stats().await.unwrap();

    assert!(stats.oldest_ready.unwrap() < Duration::from_mins(1));
}

async fn a_table_that_is_missing_is_an_error_and_not_a_zero(database: TestDatabase) {
    let outbox = Outbox::new(database);
    outbox.run("DROP TABLE outbox_dead_letter").await;

    let error = outbox.store.stats().await.unwrap_err();

    assert_eq!(error.kind(), StoreErrorKind::SchemaMissing);
}

async fn a_long_backlog_is_counted_up_to_a_bound(database: TestDatabase) {
    let outbox = Outbox::new(database);
    outbox.insert(sample(3).with("created_at", &outbox.instant(Some(-HOUR)))).await;
    let series = if outbox.is_postgres() {
        "SELECT generate_series(1, 100001)"
    } else if outbox.is_mariadb() {
        "SELECT seq FROM seq_1_to_100001"
    } else {
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100001)
         SELECT i FROM n"
    };
    let columns = "lane, id, format, event_type, event_version, topic, source, content_type,
                   payload, size, occurred_at";
    outbox
        .run(&format!(
            "INSERT INTO outbox_message ({columns}) SELECT {columns} FROM outbox_message, ({series}) n"
        ))
        .await;

    let stats = outbox.store.stats().await.unwrap();

    assert_eq!(stats.ready, Count::AtLeast(100_001));
    assert_eq!(stats.scheduled, Count::Exact(0));
    assert!(stats.oldest_ready.unwrap() >= Duration::from_hours(1));
}
