//! Workers that tell each other that they live.

use std::time::Duration;

use outbox_core::{Fleet, Format, OutboxStore, WorkerCard, WorkerId};

use crate::database::TestDatabase;
use crate::on_all;
use crate::store_fixture::{HOUR, Outbox, SECOND};

on_all!(store_fleet:
    a_later_heartbeat_replaces_the_card,
    a_worker_alone_is_the_whole_fleet,
    a_worker_that_is_silent_for_a_day_is_forgotten,
    a_worker_that_is_silent_for_too_long_counts_as_gone,
    a_worker_that_takes_no_part_is_not_counted,
    what_the_others_lack_is_added_up,
);

pub(crate) fn card(wants_lanes: Option<u8>) -> WorkerCard {
    WorkerCard {
        id: WorkerId::new(),
        version: "0.1.0".to_owned(),
        max_format: Format::CURRENT,
        topics: vec!["orders".to_owned(), "a \"quoted\" one".to_owned()],
        lacks: Vec::new(),
        wants_lanes,
        alive_for: Duration::from_secs(30),
    }
}

/// Without the stamp, which grows.
async fn beat(outbox: &Outbox, card: &WorkerCard) -> Fleet {
    Fleet { stamp: None, ..outbox.store.heartbeat(card).await.unwrap() }
}

async fn seen(outbox: &Outbox, ago: i64) {
    let instant = outbox.instant(Some(-ago));
    outbox.run(&format!("UPDATE outbox_worker SET seen_at = {instant}")).await;
}

async fn a_worker_alone_is_the_whole_fleet(database: TestDatabase) {
    let outbox = Outbox::new(database);

    let fleet = beat(&outbox, &card(Some(64))).await;

    assert_eq!(fleet, Fleet { sharing: 1, wanted: 0, free: 64, ..Fleet::default() });
    let topics: String = outbox.value("SELECT topics FROM outbox_worker").await;
    assert_eq!(topics, r#"["orders","a \"quoted\" one"]"#);
}

async fn what_the_others_lack_is_added_up(database: TestDatabase) {
    let outbox = Outbox::new(database);
    beat(&outbox, &card(Some(5))).await;
    beat(&outbox, &card(Some(7))).await;

    let fleet = beat(&outbox, &card(Some(9))).await;

    assert_eq!(fleet, Fleet { sharing: 3, wanted: 12, free: 64, ..Fleet::default() });
}

async fn a_worker_that_takes_no_part_is_not_counted(database: TestDatabase) {
    let outbox = Outbox::new(database);
    beat(&outbox, &card(None)).await;

    let sharing = beat(&outbox, &card(Some(0))).await;
    let watching = beat(&outbox, &card(None)).await;

    assert_eq!(sharing, Fleet { sharing: 1, wanted: 0, free: 64, ..Fleet::default() });
    assert_eq!(watching, Fleet { sharing: 1, wanted: 0, free: 64, ..Fleet::default() });
}

async fn a_later_heartbeat_replaces_the_card(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let first = card(Some(5));
    beat(&outbox, &first).await;
    seen(&outbox, HOUR).await;

    beat(&outbox, &WorkerCard { wants_lanes: Some(2), version: "0.2.0".to_owned(), ..first }).await;

    assert_eq!(outbox.count("worker").await, 1);
    let version: String = outbox.value("SELECT version FROM outbox_worker").await;
    assert_eq!(version, "0.2.0");
    assert_eq!(
        beat(&outbox, &card(Some(0))).await,
        Fleet { sharing: 2, wanted: 2, free: 64, ..Fleet::default() }
    );
}

async fn a_worker_that_is_silent_for_too_long_counts_as_gone(database: TestDatabase) {
    let outbox = Outbox::new(database);
    beat(&outbox, &card(Some(5))).await;
    seen(&outbox, 31 * SECOND).await;

    let fleet = beat(&outbox, &card(Some(0))).await;

    assert_eq!(fleet, Fleet { sharing: 1, wanted: 0, free: 64, ..Fleet::default() });
    assert_eq!(outbox.count("worker").await, 2);
}

async fn a_worker_that_is_silent_for_a_day_is_forgotten(database: TestDatabase) {
    let outbox = Outbox::new(database);
    beat(&outbox, &card(Some(5))).await;
    seen(&outbox, 24 * HOUR + SECOND).await;

    beat(&outbox, &card(Some(0))).await;

    assert_eq!(outbox.count("worker").await, 1);
}
