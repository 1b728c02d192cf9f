//! A run that ends once nothing is left to be sent.

use std::time::Duration;

use outbox_core::{FailureKind, Lane, OutboxMessage};
use outbox_testing::{CommitOrder, Times};
use tokio::time::Instant;

use crate::rig::{Rig, failure, message, ordered};

#[tokio::test(start_paused = true)]
async fn an_empty_outbox_is_left_at_once() {
    let rig = Rig::new();
    let began = Instant::now();

    rig.run_until_idle().await;

    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert!(rig.store.lanes().is_empty(), "lanes were not given back");
}

#[tokio::test(start_paused = true)]
async fn all_that_is_due_is_sent_and_settled() {
    for commits in [CommitOrder::Numbered, CommitOrder::Ordered, CommitOrder::Unknown] {
        let mut rig = Rig::with_commits(commits);
        rig.settings.held_records = 50.try_into().unwrap();
        for number in 0..200 {
            rig.store.stage(ordered("orders", &(number % 7).to_string()));
            rig.store.stage(message("stock"));
        }

        let drained = rig.run_until_idle().await;

        assert!(rig.store.pending().is_empty());
        assert_eq!(rig.publisher.accepted().len(), 400);
        assert_eq!((drained.unresolved, drained.unwritten), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_due_again_later_is_left_for_the_next_run() {
    let rig = Rig::new();
    let mut later = failure(FailureKind::Transient);
    later.retry_after = Some(Duration::from_mins(1));
    rig.publisher.fail_next(later);
    rig.store.stage(ordered("orders", "7"));
    rig.store.stage(ordered("orders", "7"));

    rig.run_until_idle().await;
    let left = rig.store.pending().len();
    rig.pass(Duration::from_mins(1)).await;
    rig.run_until_idle().await;

    assert_eq!(left, 2);
    assert!(rig.store.pending().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_broken_topic_is_tried_and_left() {
    let rig = Rig::new();
    let broken = |message: &OutboxMessage| &*message.topic == "broken";
    rig.publisher.fail_when(broken, Times::Always, failure(FailureKind::Destination));
    for _ in 0..20 {
        rig.store.stage(message("broken"));
        rig.store.stage(message("orders"));
    }

    rig.run_until_idle().await;

    assert_eq!(rig.publisher.accepted().len(), 20);
    assert_eq!(rig.store.pending().len(), 20);
    assert!(rig.store.pending().iter().all(|record| record.attempts == 0));
}

#[tokio::test(start_paused = true)]
async fn refused_credentials_end_the_run() {
    let rig = Rig::new();
    rig.publisher.fail_when(|_| true, Times::Always, failure(FailureKind::Credentials));
    rig.store.stage(message("orders"));

    rig.run_until_idle().await;

    assert_eq!(rig.store.pending().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_throttled_topic_is_waited_for() {
    let rig = Rig::new();
    rig.publisher.fail_when(|_| true, Times::First(15), failure(FailureKind::Throttled));
    rig.store.stage(message("orders"));

    rig.run_until_idle().await;

    assert!(rig.store.pending().is_empty());
}

#[tokio::test(start_paused = true)]
async fn lanes_of_a_worker_that_died_are_waited_for() {
    let rig = Rig::new();
    let gate = rig.publisher.hold();
    rig.store.stage(message("orders"));
    let dead = rig.start();
    rig.publisher.arrived_at_least(1).await;
    dead.kill();
    gate.release();

    rig.run_until_idle().await;

    assert!(rig.store.pending().is_empty());
}

/// Its share is in nobody's hands while it still counts as alive.
#[tokio::test(start_paused = true)]
async fn the_part_of_a_worker_that_died_is_waited_for() {
    let rig = Rig::new();
    let (one, dead) = (rig.start(), rig.start());
    rig.until("an even share", |store| {
        let owner = store.lanes().first().map(|lane| lane.owner);
        let held = store.lanes().iter().filter(|lane| Some(lane.owner) == owner).count();
        (store.lanes().len(), held) == (64, 32)
    })
    .await;
    one.stop().await;
    dead.kill();
    for _ in 0..200 {
        rig.store.stage(message("orders"));
    }

    rig.run_until_idle().await;

    assert!(rig.store.pending().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_run_beside_a_worker_ends_too() {
    let rig = Rig::new();
    let worker = rig.start();
    rig.until("all lanes", |store| store.lanes().len() == usize::from(Lane::COUNT)).await;
    for _ in 0..100 {
        rig.store.stage(message("orders"));
    }

    rig.run_until_idle().await;
    rig.until_empty().await;

    assert_eq!(rig.publisher.accepted().len(), 100);
    worker.stop().await;
}
