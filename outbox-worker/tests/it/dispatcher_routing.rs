//! Lanes go to workers that can send what is in them.

use std::sync::Arc;

use outbox_core::{FailureKind, Lane, LaneLease, OutboxMessage};
use outbox_testing::Times;

use crate::rig::{Rig, Worker, failure, message, ordered};

fn start(rig: &Rig, topics: &[&str]) -> Worker {
    let publisher = rig.publisher.clone().with_topics(topics.iter().copied());
    rig.start_with(Arc::new(publisher))
}

fn shares(rig: &Rig) -> Vec<usize> {
    let lanes = rig.store.lanes();
    let mut owners: Vec<_> = lanes.iter().map(|lane| lane.owner).collect();
    owners.sort();
    owners.chunk_by(|one, other| one == other).map(<[_]>::len).collect()
}

/// Two workers with half of the lanes each.
async fn halves(rig: &Rig, topics: [&[&str]; 2]) -> [Worker; 2] {
    let workers = topics.map(|topics| start(rig, topics));
    rig.until("an even share", |_| shares(rig) == [32, 32]).await;
    workers
}

/// A message of each topic in the same lane.
fn neighbours(topics: [&str; 2]) -> [OutboxMessage; 2] {
    let lane = |message: &OutboxMessage| {
        Lane::of_key(&message.topic, message.ordering_key.as_deref().unwrap())
    };
    let first = ordered(topics[0], "key");
    let other = |number: u32| ordered(topics[1], &format!("key-{number}"));
    let second = (0..9_999).map(other).find(|other| lane(other) == lane(&first)).unwrap();
    [first, second]
}

#[tokio::test(start_paused = true)]
async fn records_of_a_topic_reach_the_worker_that_has_it() {
    let rig = Rig::new();
    let workers = halves(&rig, [&["orders"], &["orders", "invoices"]]).await;

    for _ in 0..300 {
        rig.store.stage(message("invoices"));
        rig.store.stage(message("orders"));
    }
    let staged_at = rig.clock.now();
    rig.until_empty().await;

    let waited = (rig.clock.now() - staged_at).to_std().unwrap();
    assert!(waited < rig.settings.lease * 2, "took {waited:?}");
    assert_eq!(rig.publisher.accepted().len(), 600);
    assert_eq!(workers.each_ref().map(|worker| worker.figures.lanes_lost()), [0, 0]);
    stop(workers).await;
}

/// None of those that lack the topic collects what the others gave up before the one that has it.
#[tokio::test(start_paused = true)]
async fn lanes_of_many_go_to_the_one_that_has_the_topic() {
    let rig = Rig::new();
    let most = [(); 7].map(|()| start(&rig, &["orders"]));
    let one = start(&rig, &["orders", "invoices"]);
    rig.until("an even share", |_| shares(&rig) == [8; 8]).await;

    for _ in 0..300 {
        rig.store.stage(message("invoices"));
    }
    let staged_at = rig.clock.now();
    rig.until_empty().await;

    let waited = (rig.clock.now() - staged_at).to_std().unwrap();
    assert!(waited < rig.settings.lease * 2, "took {waited:?}");
    for worker in most.into_iter().chain([one]) {
        worker.stop().await;
    }
}

/// Lanes that were given up count as the worker's own share, or each would come back for another.
#[tokio::test(start_paused = true)]
async fn lanes_that_were_given_up_stay_where_they_went() {
    let rig = Rig::new();
    let workers = halves(&rig, [&["orders"], &["orders", "invoices"]]).await;
    // So many that each lane has one.
    for _ in 0..2000 {
        rig.store.stage(message("invoices"));
    }
    rig.until_empty().await;
    rig.until("all lanes to be held", |store| store.lanes().len() == 64).await;
    let before = leases(&rig);

    for _ in 0..20 {
        rig.store.stage(message("invoices"));
        rig.pass(rig.settings.lease / 2).await;
    }

    assert_eq!(leases(&rig), before);
    stop(workers).await;
}

#[tokio::test(start_paused = true)]
async fn lanes_stay_where_they_are_for_a_topic_that_nobody_has() {
    let rig = Rig::new();
    let workers = halves(&rig, [&["orders"], &["orders", "refunds"]]).await;
    let before = leases(&rig);

    for _ in 0..300 {
        rig.store.stage(message("invoices"));
    }
    rig.pass(rig.settings.lease * 5).await;

    assert_eq!(leases(&rig), before);
    stop(workers).await;
}

/// A breaker alone is no reason: the other worker would find the topic as broken.
#[tokio::test(start_paused = true)]
async fn lanes_stay_where_they_are_for_a_topic_that_is_broken() {
    let rig = Rig::new();
    let workers = halves(&rig, [&["orders"], &["orders"]]).await;
    let before = leases(&rig);
    let broken = failure(FailureKind::Destination);
    rig.publisher.fail_type("orders.changed", Times::Always, broken);

    for _ in 0..300 {
        rig.store.stage(message("orders"));
    }
    rig.pass(rig.settings.lease * 5).await;

    assert_eq!(leases(&rig), before);
    stop(workers).await;
}

#[tokio::test(start_paused = true)]
async fn two_workers_with_a_topic_each_take_turns_in_a_lane_with_both() {
    let rig = Rig::new();
    let workers = halves(&rig, [&["orders"], &["invoices"]]).await;
    let staged_at = rig.clock.now();

    for _ in 0..10 {
        for message in neighbours(["orders", "invoices"]) {
            rig.store.stage(message);
        }
    }
    rig.until_empty().await;

    let waited = (rig.clock.now() - staged_at).to_std().unwrap();
    assert!(waited < rig.settings.lease * 6, "took {waited:?}");
    stop(workers).await;
}

#[tokio::test(start_paused = true)]
async fn lanes_come_back_when_the_worker_that_they_went_to_is_gone() {
    let rig = Rig::new();
    let [one, other] = halves(&rig, [&["orders"], &["orders", "invoices"]]).await;
    for _ in 0..300 {
        rig.store.stage(message("invoices"));
    }
    rig.until_empty().await;
    other.stop().await;

    for _ in 0..300 {
        rig.store.stage(message("orders"));
    }
    let staged_at = rig.clock.now();
    rig.until_empty().await;

    let waited = (rig.clock.now() - staged_at).to_std().unwrap();
    assert!(waited < rig.settings.lease, "took {waited:?}");
    assert_eq!(shares(&rig), [64]);
    one.stop().await;
}

fn leases(rig: &Rig) -> Vec<LaneLease> {
    rig.store.lanes().into_iter().map(|lane| lane.lease).collect()
}

async fn stop(workers: [Worker; 2]) {
    for worker in workers {
        worker.stop().await;
    }
}
