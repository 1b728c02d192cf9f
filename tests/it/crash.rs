//! Processes that die, and what is left of their work.

use std::collections::HashSet;

use outbox_test_databases::number;
use outbox_testing::sns::Accepted;
use outbox_tests::process::{Process, Worker, binary};
use outbox_tests::shop::{self, Ending};
use outbox_worker::CancellationToken;
use sea_orm::DatabaseConnection;
use tokio::process::Command;

use crate::deliveries::{
    DEAD, FREE_LANES, LEFT, by_event, event_id, sender, shop_on, total_of, until, until_settled,
};
use crate::scene::{Scene, on_mariadb, on_postgres, on_sqlite};

/// Every repetition follows a worker that sent the event and was killed then: the window CRASH.
///
/// A process sends nothing after its end, so it was killed with the event accepted or on its way,
/// and whether it had settled it is not known to the next one. Nothing else repeats an event here:
/// no process sends it twice, and what a worker sent that was not killed is sent by none after it.
fn explain_duplicates(journal: &[Accepted], killed: &HashSet<String>) {
    for (id, acceptances) in by_event(journal) {
        let senders: HashSet<&str> = acceptances.iter().copied().map(sender).collect();
        assert_eq!(senders.len(), acceptances.len(), "{id} was sent twice by one process");
        let (_, repeated) = acceptances.split_last().unwrap();
        for sender in repeated.iter().copied().map(sender) {
            assert!(killed.contains(sender), "{id} was sent again after {sender}, which lived on");
        }
    }
}

/// Places orders, every fifth of them rolled back, and returns the totals of the committed ones.
async fn place_until(db: DatabaseConnection, end: CancellationToken) -> HashSet<i64> {
    let mut committed = HashSet::new();
    for total in 0.. {
        if end.is_cancelled() {
            break;
        }
        let ending = if total % 5 == 4 { Ending::Rollback } else { Ending::Commit };
        shop::place(&db, total, ending).await.unwrap();
        if ending == Ending::Commit {
            committed.insert(total);
        }
    }
    committed
}

/// How many messages were accepted from this worker, the last one that was started.
fn sent_by_last(worker: &Worker, journal: &[Accepted]) -> usize {
    let its = |accepted: &&Accepted| sender(accepted) == worker.access_key_id();
    journal.iter().rev().take_while(its).count()
}

/// Ten kills at random moments, while orders are placed.
async fn ten_kills(scene: &Scene) {
    let seed = fastrand::u64(..);
    eprintln!("seed of the moments: {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let db = shop_on(&scene.database).await;
    let setup = scene.setup().with_short_leases();
    let killed_all = CancellationToken::new();
    let mut placing = tokio::spawn(place_until(db.clone(), killed_all.clone()));

    let mut killed = HashSet::new();
    for _ in 0..10 {
        let worker = scene.worker(&setup).await;
        // Before it sends at all, or somewhere between the acceptance of this message of its and
        // whatever follows.
        let enough = random.usize(0..20);
        let moment = scene.stub.accepted_until(|journal| sent_by_last(&worker, journal) >= enough);
        tokio::select! {
            _ = scene.within("acceptance to kill at", moment) => {}
            ended = &mut placing => panic!("orders are no longer placed: {:?}", ended.err()),
        }
        killed.insert(worker.access_key_id().to_owned());
        worker.kill().await;
    }
    killed_all.cancel();
    let committed = scene.within("end of the orders", placing).await.unwrap();
    let worker = scene.worker(&setup).await;
    until_settled(scene, &db).await;
    worker.kill().await;

    let journal = scene.stub.journal();
    let arrived: HashSet<i64> = journal.iter().map(total_of).collect();
    assert!(committed.len() > 100, "only {} orders", committed.len());
    assert_eq!(arrived, committed, "lost or never committed");
    explain_duplicates(&journal, &killed);
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_kills_of_the_worker_lose_nothing_on_mariadb() {
    on_mariadb(ten_kills).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_kills_of_the_worker_lose_nothing_on_postgres() {
    on_postgres(ten_kills).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_kills_of_the_worker_lose_nothing_on_sqlite() {
    on_sqlite(ten_kills).await;
}

/// A kill exactly between SNS's acceptance and the settlement.
async fn kill_before_settlement(scene: &Scene) {
    let db = shop_on(&scene.database).await;
    let setup = scene.setup().with_short_leases();
    shop::place(&db, 100, Ending::Commit).await.unwrap();
    let held = scene.stub.hold();
    let first = scene.worker(&setup).await;
    scene.within("acceptance that is held", held.held_at_least(1)).await;
    let senders = first.access_key_id().to_owned();
    first.kill().await;
    held.release();
    assert_eq!(number(&db, LEFT).await, 1);

    let second = scene.worker(&setup).await;
    until_settled(scene, &db).await;
    assert_eq!(number(&db, DEAD).await, 0);
    let senders = [senders, second.access_key_id().to_owned()];
    second.kill().await;

    let journal = scene.stub.journal();
    let (sent_by, ids): (Vec<_>, Vec<_>) = journal.iter().map(|a| (sender(a), event_id(a))).unzip();
    assert_eq!(sent_by, senders);
    assert_eq!(ids[0], ids[1]);
    assert_eq!(journal[0].message, journal[1].message);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_between_acceptance_and_settlement_sends_twice_under_one_id_on_mariadb() {
    on_mariadb(kill_before_settlement).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_between_acceptance_and_settlement_sends_twice_under_one_id_on_postgres() {
    on_postgres(kill_before_settlement).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_between_acceptance_and_settlement_sends_twice_under_one_id_on_sqlite() {
    on_sqlite(kill_before_settlement).await;
}

/// The web process dies right after it has answered, and no worker was running.
async fn kill_web_after_commit(scene: &Scene) {
    let mut command = Command::new(binary("quickstart"));
    command
        .args(["--serve", "--no-worker", "--port", "0"])
        .env_clear()
        .env("DATABASE_URL", &scene.database.url);
    let web = Process::start(command);
    scene.watch("web", &web);
    let line = web.until_printed("listening on http://").await;
    let address = line.split("listening on ").nth(1).unwrap().trim();
    let order = serde_json::json!({
        "customer": "ada", "sku": "cup", "quantity": 1, "total": 4200
    });
    let request = reqwest::Client::new().post(format!("{address}/orders")).json(&order).send();
    let answer = scene.within("answer to the order", request).await.unwrap();
    web.kill().await;
    assert!(answer.status().is_success(), "{}", answer.status());
    assert!(scene.stub.journal().is_empty());

    let worker = scene.worker(&scene.setup()).await;
    let journal = scene.within("acceptance", scene.stub.accepted_at_least(1)).await;
    worker.kill().await;

    assert_eq!(journal[0].attribute("ce_type"), Some("orders.order_placed"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_outlives_the_web_process_that_committed_it_on_postgres() {
    on_postgres(kill_web_after_commit).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_outlives_the_web_process_that_committed_it_on_sqlite() {
    on_sqlite(kill_web_after_commit).await;
}

/// Two processes, a thousand events, no fault.
async fn two_workers(scene: &Scene) {
    let db = shop_on(&scene.database).await;
    let setup = scene.setup();
    let (first, second) = (scene.worker(&setup).await, scene.worker(&setup).await);
    let shared = "SELECT count(*) FROM (SELECT owner FROM outbox_lane WHERE token IS NOT NULL \
        GROUP BY owner HAVING count(*) = 32) AS halves";
    scene.within("equal shares", until(&db, shared, 2)).await;

    for number in 0..1000 {
        shop::place(&db, number, Ending::Commit).await.unwrap();
    }
    until_settled(scene, &db).await;

    let senders = [&first, &second].map(|worker| worker.access_key_id().to_owned());
    for worker in [first, second] {
        let (status, said) = worker.stop().await;
        assert!(status.success(), "{said}");
    }
    let journal = scene.stub.journal();
    assert_eq!(journal.len(), 1000);
    assert_eq!(by_event(&journal).len(), 1000);
    let sent_by: HashSet<&str> = journal.iter().map(sender).collect();
    assert_eq!(sent_by, senders.iter().map(String::as_str).collect(), "one had nothing to send");
    assert_eq!(number(&db, FREE_LANES).await, 64, "lanes were not given back");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_workers_send_a_thousand_events_once_on_mariadb() {
    on_mariadb(two_workers).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_workers_send_a_thousand_events_once_on_postgres() {
    on_postgres(two_workers).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_workers_send_a_thousand_events_once_on_sqlite() {
    on_sqlite(two_workers).await;
}
