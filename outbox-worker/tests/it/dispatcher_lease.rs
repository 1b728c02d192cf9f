//! Lanes are leased, shared, lost and given back.

use std::collections::HashMap;
use std::time::Duration;

use outbox_core::{FailureKind, Format, OutboxStore, StoreErrorKind, WorkerCard, WorkerId};
use outbox_testing::{MemoryStore, StoreCall};

use crate::rig::{Rig, failure, message, within};

fn lanes_by_owner(store: &MemoryStore) -> HashMap<WorkerId, usize> {
    let mut owners = HashMap::new();
    for lane in store.lanes() {
        *owners.entry(lane.owner).or_default() += 1;
    }
    owners
}

fn shared_out(store: &MemoryStore, workers: usize) -> bool {
    let owners = lanes_by_owner(store);
    let all: usize = owners.values().sum();
    all == 64 && owners.len() == workers && owners.values().all(|lanes| *lanes >= 64 / workers)
}

#[tokio::test(start_paused = true)]
async fn workers_share_the_lanes_and_send_nothing_twice() {
    let rig = Rig::new();
    let first = rig.start();
    rig.until("all lanes", |store| shared_out(store, 1)).await;
    let second = rig.start();
    let third = rig.start();
    rig.until("a fair share", |store| shared_out(store, 3)).await;

    for _ in 0..1000 {
        rig.store.stage(message("orders"));
    }
    rig.until_empty().await;
    third.stop().await;
    rig.until("two shares", |store| shared_out(store, 2)).await;
    for _ in 0..100 {
        rig.store.stage(message("orders"));
    }
    rig.until_empty().await;

    assert_eq!(rig.publisher.arrived(), 1100);
    assert!(first.figures.published() > 0 && second.figures.published() > 0);
    first.stop().await;
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn lanes_of_a_killed_worker_are_taken_over_after_one_lease() {
    let rig = Rig::new();
    let killed = rig.start();
    rig.until("leased lanes", |store| store.lanes().len() == 64).await;
    let survivor = rig.start();
    killed.kill();
    let killed_at = rig.clock.now();
    rig.store.stage(message("orders"));
    rig.until_empty().await;

    let waited = (rig.clock.now() - killed_at).to_std().unwrap();
    assert!(waited < rig.settings.lease + Duration::from_secs(7), "took {waited:?}");
    survivor.stop().await;
}

/// A9: until the heartbeat of the one that died ages out, the others leave it a share.
#[tokio::test(start_paused = true)]
async fn no_lane_waits_longer_than_a_lease_for_a_worker_that_was_killed() {
    let rig = Rig::new();
    let (killed, second, third) = (rig.start(), rig.start(), rig.start());
    rig.until("a fair share", |store| shared_out(store, 3)).await;
    killed.kill();
    let killed_at = rig.clock.now();
    for _ in 0..500 {
        rig.store.stage(message("orders"));
    }
    rig.until_empty().await;

    let waited = (rig.clock.now() - killed_at).to_std().unwrap();
    assert!(waited < rig.settings.lease + rig.settings.lease / 2, "took {waited:?}");
    second.stop().await;
    third.stop().await;
}

/// A9: a worker that takes part in sharing but leases nothing, because it is paused or cannot send.
#[tokio::test(start_paused = true)]
async fn no_lane_waits_longer_than_a_lease_for_a_worker_that_never_leases() {
    let rig = Rig::new();
    let (store, card) = (rig.store.clone(), idle_card(rig.settings.lease));
    let heartbeats = tokio::spawn(async move {
        loop {
            store.heartbeat(&card).await.unwrap();
            tokio::time::sleep(card.alive_for / 3).await;
        }
    });
    let worker = rig.start();
    rig.until("half of the lanes", |store| store.lanes().len() == 32).await;

    let mut longest = Duration::ZERO;
    for _ in 0..10 {
        let staged_at = rig.clock.now();
        for _ in 0..500 {
            rig.store.stage(message("orders"));
        }
        rig.until_empty().await;
        longest = longest.max((rig.clock.now() - staged_at).to_std().unwrap());
        rig.pass(Duration::from_millis(3700)).await;
    }

    assert!(longest < rig.settings.lease + rig.settings.lease / 2, "took {longest:?}");
    heartbeats.abort();
    worker.stop().await;
}

/// Each of them counts, and seems to lack all lanes, until its heartbeat is a lease old.
#[tokio::test(start_paused = true)]
async fn workers_that_die_as_soon_as_they_have_asked_leave_the_others_their_lanes() {
    let rig = Rig::new();
    let worker = rig.start();
    rig.until("all lanes", |store| store.lanes().len() == 64).await;

    let mut fewest = 64;
    for _ in 0..8 {
        let card = WorkerCard { wants_lanes: Some(64), ..idle_card(rig.settings.lease) };
        rig.store.heartbeat(&card).await.unwrap();
        rig.pass(Duration::from_secs(3)).await;
        fewest = fewest.min(rig.store.lanes().len());
    }

    // Half for the first, and a third once that was found to have left its half.
    assert!(fewest >= 21, "{fewest} lanes were left");
    worker.stop().await;
}

/// Of a worker that lacks its share for ever.
fn idle_card(alive_for: Duration) -> WorkerCard {
    WorkerCard {
        id: WorkerId::new(),
        version: "1.0.0".to_owned(),
        max_format: Format::CURRENT,
        topics: Vec::new(),
        lacks: Vec::new(),
        wants_lanes: Some(32),
        alive_for,
    }
}

/// CRASH: the broker has the message, the worker dies, its successor sends it again.
#[tokio::test(start_paused = true)]
async fn a_record_sent_by_a_worker_that_dies_before_settling_is_sent_again() {
    let rig = Rig::new();
    let record = rig.store.stage(message("orders"));
    let settlement = rig.store.pause(StoreCall::Settle);
    let killed = rig.start();
    settlement.arrived().await;
    killed.kill();
    settlement.release();

    let survivor = rig.start();
    rig.until_empty().await;

    assert_eq!(rig.publisher.accepted(), [record.id, record.id]);
    assert_eq!(survivor.figures.published(), 1);
    survivor.stop().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_under_a_lease_that_may_end_during_the_send() {
    let rig = Rig::new();
    let worker = rig.start();
    rig.until("leased lanes", |store| store.lanes().len() == 64).await;
    let renewal = rig.store.pause(StoreCall::Renew);
    renewal.arrived().await;
    // More than a third of the lease is gone, so that publish timeout and margin no longer fit.
    rig.pass(Duration::from_secs(2)).await;
    rig.store.stage(message("orders"));
    let reads = rig.store.calls(StoreCall::Read);
    rig.store.called_at_least(StoreCall::Read, reads + 2).await;

    assert_eq!(rig.publisher.arrived(), 0);
    renewal.release();
    rig.until_empty().await;
    assert_eq!(rig.publisher.arrived(), 1);
    worker.stop().await;
}

/// LEASE: a worker that stood still settles nothing under its old lease.
#[tokio::test(start_paused = true)]
async fn a_stale_worker_settles_nothing() {
    let rig = Rig::new();
    rig.publisher.fail_next(failure(FailureKind::Message));
    rig.store.stage(message("orders"));
    let settlement = rig.store.pause(StoreCall::Settle);
    let stale = rig.start();
    settlement.arrived().await;
    // Its verdict is «dead». Another worker takes over and its verdict is «published».
    rig.store.break_down(StoreErrorKind::Unavailable);
    rig.pass(rig.settings.lease + Duration::from_secs(1)).await;
    rig.store.recover();
    let fresh = rig.start();
    rig.until_empty().await;
    settlement.release();
    rig.store.called_at_least(StoreCall::Settle, 3).await;

    assert!(rig.store.dead_letters().is_empty());
    assert_eq!(fresh.figures.published() + stale.figures.published(), 1);
    fresh.stop().await;
    stale.stop().await;
}

/// OUTCOME-LOST: a store that takes no outcome for a whole lease does not keep the record for ever.
#[tokio::test(start_paused = true)]
async fn an_outcome_that_cannot_be_written_for_a_lease_is_given_up() {
    let rig = Rig::new();
    let record = rig.store.stage(message("orders"));
    for _ in 0..16 {
        rig.store.fail_next(StoreCall::Settle, StoreErrorKind::Unavailable);
    }

    let worker = rig.start();
    rig.until_empty().await;

    assert_eq!(rig.publisher.accepted(), [record.id, record.id]);
    assert_eq!(worker.figures.outcomes_lost(), 1);
    worker.stop().await;
}

/// The next renewal does not wait for whatever else a round asks of a slow store.
#[tokio::test(start_paused = true)]
async fn a_store_that_is_slow_to_say_who_else_is_there_costs_no_lane() {
    let mut rig = Rig::new();
    rig.settings.store_timeout = Duration::from_mins(1);
    let worker = rig.start();
    rig.until("all lanes", |store| shared_out(store, 1)).await;
    let before: Vec<_> = rig.store.lanes().iter().map(|lane| lane.lease).collect();

    let heartbeat = rig.store.pause(StoreCall::Heartbeat);
    heartbeat.arrived().await;
    rig.pass(rig.settings.lease * 2).await;
    heartbeat.release();

    let after: Vec<_> = rig.store.lanes().iter().map(|lane| lane.lease).collect();
    assert_eq!(after, before);
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_drain_waits_for_sends_writes_them_and_gives_the_lanes_back() {
    let rig = Rig::new();
    rig.store.stage(message("orders"));
    let sends = rig.publisher.hold();
    let worker = rig.start();
    rig.publisher.arrived_at_least(1).await;
    worker.shutdown();
    rig.store.stage(message("orders"));
    rig.pass(Duration::from_secs(3)).await;

    sends.release();
    let drained = worker.stop().await;

    assert_eq!((drained.unresolved, drained.unwritten, drained.released), (0, 0, 64));
    assert!(rig.store.lanes().is_empty());
    assert_eq!(rig.store.pending().len(), 1);
    assert_eq!(rig.publisher.arrived(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_starts_after_a_drain_has_all_lanes_at_once() {
    let rig = Rig::new();
    let worker = rig.start();
    rig.until("all lanes", |store| shared_out(store, 1)).await;
    worker.stop().await;
    let begun = rig.clock.now();

    let worker = rig.start();
    rig.until("all lanes", |store| shared_out(store, 1)).await;

    assert!((rig.clock.now() - begun).to_std().unwrap() < Duration::from_secs(2));
    worker.stop().await;
}

/// DRAIN: a send that does not end in time is given up, and sent again by the next worker.
#[tokio::test(start_paused = true)]
async fn a_drain_ends_in_time_although_a_send_hangs() {
    let rig = Rig::new();
    let record = rig.store.stage(message("orders"));
    let sends = rig.publisher.hold();
    let worker = rig.start();
    rig.publisher.arrived_at_least(1).await;
    let begun = rig.clock.now();

    // The publish timeout is shorter than the drain timeout, so the send ends as ambiguous.
    let drained = worker.stop().await;

    assert!((rig.clock.now() - begun).to_std().unwrap() <= rig.settings.drain_timeout);
    assert_eq!(drained.unresolved, 0);
    assert_eq!(rig.store.pending()[0].attempts, 1);
    sends.release();
    let worker = rig.start();
    rig.until_empty().await;
    assert_eq!(rig.publisher.accepted(), [record.id]);
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_drain_shorter_than_a_send_reports_what_is_unresolved() {
    let mut rig = Rig::new();
    rig.settings.drain_timeout = Duration::from_secs(1);
    rig.store.stage(message("orders"));
    let _sends = rig.publisher.hold();
    let worker = rig.start();
    rig.publisher.arrived_at_least(1).await;

    let drained = within("drain", worker.stop()).await;

    assert_eq!((drained.unresolved, drained.released), (1, 64));
    assert_eq!(rig.store.pending()[0].attempts, 0);
}

#[tokio::test(start_paused = true)]
async fn a_drain_reports_outcomes_whose_settlement_did_not_end() {
    let rig = Rig::new();
    rig.store.stage(message("orders"));
    // The second one is under way when the time of the drain is over.
    let first = rig.store.pause(StoreCall::Settle);
    let _second = rig.store.pause(StoreCall::Settle);
    let worker = rig.start();
    first.arrived().await;
    rig.pass(rig.settings.store_timeout / 2).await;

    let drained = worker.stop().await;

    assert_eq!((drained.unresolved, drained.unwritten), (0, 1));
}
