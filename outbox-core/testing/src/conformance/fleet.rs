//! Cases about the workers that share an outbox.

use std::time::Duration;

use outbox_core::{Fleet, Format, WorkerCard, WorkerId};

use super::fixture::StoreFixture;
use super::outbox::Outbox;
use super::sample::{HOUR, SHORT};

/// A worker that shares counts itself and does not count its own wish.
pub async fn a_worker_counts_itself(fixture: &dyn StoreFixture) {
    let fleet = heartbeat(fixture, &worker(Some(8), HOUR)).await;

    assert_eq!(fleet, Fleet { sharing: 1, wanted: 0, free: 64, ..Fleet::default() });
}

/// Live workers count each other and what the others lack.
pub async fn live_workers_count_each_other(fixture: &dyn StoreFixture) {
    heartbeat(fixture, &worker(Some(3), HOUR)).await;
    heartbeat(fixture, &worker(Some(5), HOUR)).await;

    let fleet = heartbeat(fixture, &worker(Some(20), HOUR)).await;

    assert_eq!(fleet, Fleet { sharing: 3, wanted: 8, free: 64, ..Fleet::default() });
}

/// A worker is counted once, by what it said last.
pub async fn a_worker_counts_by_its_last_word(fixture: &dyn StoreFixture) {
    let first = worker(Some(8), HOUR);
    heartbeat(fixture, &first).await;
    heartbeat(fixture, &WorkerCard { wants_lanes: Some(2), ..first }).await;

    let fleet = heartbeat(fixture, &worker(Some(0), HOUR)).await;

    assert_eq!(fleet, Fleet { sharing: 2, wanted: 2, free: 64, ..Fleet::default() });
}

/// A worker that was silent for too long counts as gone.
pub async fn a_silent_worker_counts_as_gone(fixture: &dyn StoreFixture) {
    heartbeat(fixture, &worker(Some(8), SHORT)).await;
    fixture.pass(SHORT * 2).await;

    let fleet = heartbeat(fixture, &worker(Some(8), SHORT)).await;

    assert_eq!(fleet, Fleet { sharing: 1, wanted: 0, free: 64, ..Fleet::default() });
}

/// A worker that takes no part in sharing is not counted.
pub async fn a_worker_outside_of_sharing_is_not_counted(fixture: &dyn StoreFixture) {
    let sharing = worker(Some(4), HOUR);
    heartbeat(fixture, &worker(None, HOUR)).await;

    let seen_from_inside = heartbeat(fixture, &sharing).await;
    let seen_from_outside = heartbeat(fixture, &worker(None, HOUR)).await;

    assert_eq!(seen_from_inside, Fleet { sharing: 1, wanted: 0, free: 64, ..Fleet::default() });
    assert_eq!(seen_from_outside, Fleet { sharing: 1, wanted: 4, free: 64, ..Fleet::default() });
}

/// A worker that stops sharing is no longer counted.
pub async fn a_worker_may_stop_sharing(fixture: &dyn StoreFixture) {
    let leaver = worker(Some(8), HOUR);
    heartbeat(fixture, &leaver).await;
    heartbeat(fixture, &WorkerCard { wants_lanes: None, ..leaver }).await;

    let fleet = heartbeat(fixture, &worker(Some(0), HOUR)).await;

    assert_eq!(fleet, Fleet { sharing: 1, wanted: 0, free: 64, ..Fleet::default() });
}

/// A heartbeat through one store is seen through every other.
pub async fn a_heartbeat_is_seen_by_every_store(fixture: &dyn StoreFixture) {
    heartbeat(fixture, &worker(Some(8), HOUR)).await;

    let fleet = fixture.reopen().await.heartbeat(&worker(Some(1), HOUR)).await.unwrap();

    assert_eq!((fleet.sharing, fleet.wanted), (2, 8));
}

/// A heartbeat tells how many lanes nobody holds.
pub async fn a_heartbeat_tells_how_many_lanes_are_free(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let free = async || heartbeat(fixture, &worker(Some(0), HOUR)).await.free;
    // Long enough for what is asked before its end.
    let time = SHORT * 20;
    outbox.lease(10, time).await;
    let leases = outbox.lease(20, HOUR).await;

    let held = free().await;
    outbox.release(&leases[..4]).await;
    let given_back = free().await;
    fixture.pass(time).await;
    let run_out = free().await;

    assert_eq!((held, given_back, run_out), (34, 38, 48));
}

/// Of the topics that a worker lacks, it is told those that a live worker which shares can send to.
pub async fn a_heartbeat_tells_which_topics_others_can_send_to(fixture: &dyn StoreFixture) {
    let card = |topics: &[&str], lacks: &[&str], wants| WorkerCard {
        topics: topics.iter().copied().map(str::to_owned).collect(),
        lacks: lacks.iter().copied().map(str::to_owned).collect(),
        ..worker(wants, HOUR)
    };
    let routed = async |lacks: &[&str]| {
        let own = card(&["orders"], lacks, Some(0));
        heartbeat(fixture, &own).await.routed
    };
    heartbeat(fixture, &card(&["orders", "invoices \"new\""], &[], Some(0))).await;
    heartbeat(fixture, &card(&["refunds"], &[], None)).await;

    let nothing = routed(&[]).await;
    let some = routed(&["refunds", "invoices \"new\"", "typo"]).await;
    heartbeat(fixture, &card(&[], &[], Some(0))).await;
    let all = routed(&["typo", "refunds"]).await;

    assert_eq!(nothing, Vec::<String>::new());
    assert_eq!(some, ["invoices \"new\""]);
    assert_eq!(all, ["refunds", "typo"]);
}

pub(super) fn worker(wants_lanes: Option<u8>, alive_for: Duration) -> WorkerCard {
    WorkerCard {
        id: WorkerId::new(),
        version: "1.2.3".to_owned(),
        max_format: Format::CURRENT,
        topics: vec!["orders".to_owned(), "payments".to_owned()],
        lacks: Vec::new(),
        wants_lanes,
        alive_for,
    }
}

/// Without the stamp, which grows.
async fn heartbeat(fixture: &dyn StoreFixture, card: &WorkerCard) -> Fleet {
    Fleet { stamp: None, ..fixture.store().heartbeat(card).await.unwrap() }
}
