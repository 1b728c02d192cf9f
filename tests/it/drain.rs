//! Processes that are asked to end while they send.

use std::time::{Duration, Instant};

use outbox_test_databases::number;
use outbox_testing::sns::Hold;
use outbox_tests::process::{Signal, Worker, WorkerSetup};
use outbox_tests::shop::{self, Ending};
use sea_orm::DatabaseConnection;

use crate::deliveries::{
    ABANDONED, DEAD, FREE_LANES, LEFT, by_event, sender, shop_on, total_of,
    until_all_lanes_are_held, until_renewed, until_settled,
};
use crate::scene::{Scene, on_postgres};

const BACKLOG: i64 = 200;
const DRAINING: &str = "draining: a second signal ends at once";

/// A worker with all lanes whose one send has no answer yet.
async fn worker_that_sends(
    scene: &Scene,
    db: &DatabaseConnection,
    setup: &WorkerSetup,
) -> (Worker, Hold) {
    let answers = scene.stub.hold();
    let worker = scene.worker(setup).await;
    until_all_lanes_are_held(scene, db, 1).await;
    shop::place(db, 100, Ending::Commit).await.unwrap();
    scene.within("send that hangs", answers.held_at_least(1)).await;
    (worker, answers)
}

async fn place_backlog(db: &DatabaseConnection) {
    for total in 0..BACKLOG {
        shop::place(db, total, Ending::Commit).await.unwrap();
    }
}

/// Meanwhile its leases are renewed, and it has the time to look for more several times.
async fn send_is_waited_for(scene: &Scene) {
    let db = shop_on(&scene.database).await;
    let mut setup = scene.setup().with_sends_beyond_a_renewal();
    setup.settings.push(("OUTBOX_DISPATCHER__IDLE_POLL", "100ms"));
    let (first, answers) = worker_that_sends(scene, &db, &setup).await;

    first.signal(Signal::TERM);
    first.until_logged(DRAINING).await;
    shop::place(&db, 200, Ending::Commit).await.unwrap();
    until_renewed(scene, &db).await;
    answers.release();
    let (status, said) = first.ended().await;

    assert!(status.success(), "{said}");
    assert!(said.contains("drained unresolved=0 unwritten=0 released=64"), "{said}");
    assert_eq!(number(&db, LEFT).await, 1, "one is settled, and what came later is not read");
    assert_eq!(number(&db, FREE_LANES).await, 64, "lanes were not given back");
    let second = scene.worker(&setup).await;
    until_settled(scene, &db).await;
    second.kill().await;
    let sent: Vec<i64> = scene.stub.journal().iter().map(total_of).collect();
    assert_eq!(sent, [100, 200]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_asked_to_end_waits_for_its_sends_and_begins_none_on_postgres() {
    on_postgres(send_is_waited_for).await;
}

/// Left alone, the send would be given up only after six seconds.
async fn send_takes_too_long(scene: &Scene) {
    let db = shop_on(&scene.database).await;
    let mut setup = scene.setup();
    setup.settings.push(("OUTBOX_DISPATCHER__DRAIN_TIMEOUT", "500ms"));
    let (first, answers) = worker_that_sends(scene, &db, &setup).await;

    let (asked, sent_first) = (Instant::now(), first.access_key_id().to_owned());
    first.signal(Signal::TERM);
    let (status, said) = first.ended().await;
    let took = asked.elapsed();

    assert!(status.success(), "{said}");
    assert!(said.contains("drained unresolved=1 unwritten=0 released=64"), "{said}");
    assert!(took < Duration::from_secs(3), "{took:?}");
    assert_eq!(number(&db, FREE_LANES).await, 64, "lanes were not given back");
    answers.release();
    let second = scene.worker(&setup).await;
    until_settled(scene, &db).await;
    assert_eq!((number(&db, DEAD).await, number(&db, ABANDONED).await), (0, 0));
    let journal = scene.stub.journal();
    let senders: Vec<&str> = journal.iter().map(sender).collect();
    assert_eq!(senders, [&*sent_first, second.access_key_id()]);
    assert_eq!(by_event(&journal).len(), 1);
    second.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_send_that_outlasts_the_drain_is_repeated_by_the_next_worker_on_postgres() {
    on_postgres(send_takes_too_long).await;
}

async fn asked_twice(scene: &Scene) {
    let db = shop_on(&scene.database).await;
    let (worker, _answers) = worker_that_sends(scene, &db, &scene.setup()).await;

    worker.signal(Signal::TERM);
    worker.until_logged(DRAINING).await;
    let asked = Instant::now();
    worker.signal(Signal::TERM);
    let (status, said) = worker.ended().await;
    let took = asked.elapsed();

    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("ended without draining"), "{said}");
    assert!(took < Duration::from_secs(3), "{took:?}");
    assert_eq!((number(&db, LEFT).await, number(&db, FREE_LANES).await), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_asked_twice_ends_at_once_on_postgres() {
    on_postgres(asked_twice).await;
}

async fn backlog_until_idle(scene: &Scene) {
    let db = shop_on(&scene.database).await;
    place_backlog(&db).await;

    let (status, said) = scene.worker_until_idle(&scene.setup()).ended().await;

    assert!(status.success(), "{said}");
    assert_eq!((number(&db, LEFT).await, number(&db, FREE_LANES).await), (0, 64));
    assert_each_is_sent_once(scene);
}

fn assert_each_is_sent_once(scene: &Scene) {
    let mut sent: Vec<i64> = scene.stub.journal().iter().map(total_of).collect();
    sent.sort_unstable();
    assert!(sent.iter().copied().eq(0..BACKLOG), "{sent:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_until_idle_sends_the_backlog_and_ends_on_postgres() {
    on_postgres(backlog_until_idle).await;
}

async fn asked_before_idle(scene: &Scene) {
    let db = shop_on(&scene.database).await;
    place_backlog(&db).await;
    let mut setup = scene.setup();
    setup.settings.push(("OUTBOX_DISPATCHER__CONCURRENCY", "1"));
    let answers = scene.stub.hold();
    let first = scene.worker_until_idle(&setup);
    scene.within("send that hangs", answers.held_at_least(1)).await;

    first.signal(Signal::TERM);
    first.until_logged(DRAINING).await;
    answers.release();
    let (status, said) = first.ended().await;
    let sent = i64::try_from(scene.stub.journal().len()).unwrap();
    let left = (number(&db, LEFT).await, number(&db, FREE_LANES).await);
    let (again, said_again) = scene.worker_until_idle(&setup).ended().await;

    assert!(status.success(), "{said}");
    assert!((1..=10).contains(&sent), "{sent} of one call");
    assert_eq!(left, (BACKLOG - sent, 64));
    assert!(again.success(), "{said_again}");
    assert_eq!(number(&db, LEFT).await, 0);
    assert_each_is_sent_once(scene);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_until_idle_that_is_asked_to_end_leaves_the_rest_to_the_next_on_postgres() {
    on_postgres(asked_before_idle).await;
}
