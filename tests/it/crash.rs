//! Processes that die, and what is left of their work.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, TimeDelta, Utc};
use outbox_test_databases::{TestDatabase, number, on_postgres, on_sqlite};
use outbox_testing::sns::{Accepted, SnsStub};
use outbox_tests::process::{Process, WorkerSetup, binary};
use outbox_tests::shop::{self, Ending};
use outbox_worker::CancellationToken;
use serde_json::Value;
use tokio::process::Command;
use tokio::sync::Mutex;

/// Tests with processes run one at a time: a machine that is overloaded loses leases, and then what
/// is repeated is no longer explained by the kills.
static ALONE: Mutex<()> = Mutex::const_new(());

async fn stub() -> SnsStub {
    SnsStub::builder().auto_create_topics(true).start().await.unwrap()
}

/// An order table and an outbox.
async fn shop_on(database: &TestDatabase) -> sea_orm::DatabaseConnection {
    let db = database.connect_with(4).await;
    outbox_migration::migrate(&db).await.unwrap();
    shop::open(&db).await;
    db
}

fn event_id(accepted: &Accepted) -> String {
    accepted.attribute("ce_id").unwrap().to_owned()
}

/// Totals are unique; ids of orders that were rolled back are given again.
fn total_of(accepted: &Accepted) -> i64 {
    let event: Value = serde_json::from_str(&accepted.message).unwrap();
    event["data"]["total"].as_i64().unwrap()
}

/// Acceptances of each event, in order.
fn by_event(journal: &[Accepted]) -> HashMap<String, Vec<&Accepted>> {
    let mut events: HashMap<String, Vec<&Accepted>> = HashMap::new();
    for accepted in journal {
        events.entry(event_id(accepted)).or_default().push(accepted);
    }
    events
}

/// How long before its acceptance a message may have left a worker that was killed meanwhile.
const ON_ITS_WAY: TimeDelta = TimeDelta::milliseconds(1500);

/// Every repetition has a kill between the first send and the second acceptance: the window CRASH.
fn explain_duplicates(journal: &[Accepted], kills: &[DateTime<Utc>]) {
    for (id, acceptances) in by_event(journal) {
        for pair in acceptances.windows(2) {
            let between = pair[0].received_at - ON_ITS_WAY..=pair[1].received_at;
            let explained = kills.iter().any(|kill| between.contains(kill));
            assert!(explained, "{id} was sent twice without a kill in between: {pair:?}");
        }
    }
}

async fn until_settled(db: &sea_orm::DatabaseConnection) {
    let settled = async {
        while number(db, "SELECT count(*) FROM outbox_message").await > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(outbox_tests::process::PATIENCE, settled).await.expect("an empty outbox");
}

/// Places orders, every fifth of them rolled back, and returns the totals of the committed ones.
async fn place_until(db: sea_orm::DatabaseConnection, end: CancellationToken) -> HashSet<i64> {
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

/// Ten kills at moments that the broker's answers make random, while orders are placed.
async fn ten_kills(database: TestDatabase) {
    let db = shop_on(&database).await;
    let stub = stub().await;
    let setup = WorkerSetup::new(&database.url, &stub.endpoint_url()).with_short_leases();
    let killed_all = CancellationToken::new();
    let placing = tokio::spawn(place_until(db.clone(), killed_all.clone()));

    let mut kills = Vec::new();
    for round in 0..10 {
        let worker = setup.run().await;
        // Somewhere between the acceptance of this message and whatever follows it.
        stub.accepted_at_least(kills.len() * 20 + round * 7 % 13 + 1).await;
        worker.kill().await;
        kills.push(Utc::now());
    }
    killed_all.cancel();
    let committed = placing.await.unwrap();
    let worker = setup.run().await;
    until_settled(&db).await;
    worker.kill().await;

    let journal = stub.journal();
    let arrived: HashSet<i64> = journal.iter().map(total_of).collect();
    assert!(committed.len() > 100, "only {} orders", committed.len());
    assert_eq!(arrived, committed, "lost or never committed");
    explain_duplicates(&journal, &kills);
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_kills_of_the_worker_lose_nothing_on_postgres() {
    let _alone = ALONE.lock().await;
    on_postgres(ten_kills).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_kills_of_the_worker_lose_nothing_on_sqlite() {
    let _alone = ALONE.lock().await;
    on_sqlite(ten_kills).await;
}

/// A kill exactly between SNS's acceptance and the settlement.
async fn kill_before_settlement(database: TestDatabase) {
    let db = shop_on(&database).await;
    let stub = stub().await;
    let setup = WorkerSetup::new(&database.url, &stub.endpoint_url()).with_short_leases();
    shop::place(&db, 100, Ending::Commit).await.unwrap();
    let held = stub.hold();
    let worker = setup.run().await;
    held.held_at_least(1).await;
    worker.kill().await;
    held.release();
    assert_eq!(number(&db, "SELECT count(*) FROM outbox_message").await, 1);

    let worker = setup.run().await;
    until_settled(&db).await;
    worker.kill().await;

    let journal = stub.journal();
    assert_eq!(journal.len(), 2);
    assert_eq!(event_id(&journal[0]), event_id(&journal[1]));
    assert_eq!(journal[0].message, journal[1].message);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_between_acceptance_and_settlement_sends_twice_under_one_id_on_postgres() {
    let _alone = ALONE.lock().await;
    on_postgres(kill_before_settlement).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_between_acceptance_and_settlement_sends_twice_under_one_id_on_sqlite() {
    let _alone = ALONE.lock().await;
    on_sqlite(kill_before_settlement).await;
}

/// The web process dies right after it has answered, and no worker was running.
async fn kill_web_after_commit(database: TestDatabase) {
    let stub = stub().await;
    let mut command = Command::new(binary("quickstart"));
    command
        .args(["--serve", "--no-worker", "--port", "0"])
        .env_clear()
        .env("DATABASE_URL", &database.url);
    let mut web = Process::start(command);
    let line = web.until_printed("listening on http://").await;
    let address = line.split("listening on ").nth(1).unwrap().trim();
    let order = serde_json::json!({
        "customer": "ada", "sku": "cup", "quantity": 1, "total": 4200
    });
    let answer =
        reqwest::Client::new().post(format!("{address}/orders")).json(&order).send().await.unwrap();
    web.kill().await;
    assert!(answer.status().is_success(), "{}", answer.status());
    assert!(stub.journal().is_empty());

    let worker = WorkerSetup::new(&database.url, &stub.endpoint_url()).run().await;
    let journal = stub.accepted_at_least(1).await;
    worker.kill().await;

    assert_eq!(journal[0].attribute("ce_type"), Some("orders.order_placed"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_outlives_the_web_process_that_committed_it_on_postgres() {
    let _alone = ALONE.lock().await;
    on_postgres(kill_web_after_commit).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_outlives_the_web_process_that_committed_it_on_sqlite() {
    let _alone = ALONE.lock().await;
    on_sqlite(kill_web_after_commit).await;
}

/// Two processes, a thousand events, no fault.
async fn two_workers(database: TestDatabase) {
    let db = shop_on(&database).await;
    let stub = stub().await;
    let setup = WorkerSetup::new(&database.url, &stub.endpoint_url());
    let (first, second) = (setup.run().await, setup.run().await);
    let shared = "SELECT count(*) FROM (SELECT owner FROM outbox_lane WHERE token IS NOT NULL \
        GROUP BY owner HAVING count(*) = 32) AS halves";
    let sharing = async {
        while number(&db, shared).await < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(outbox_tests::process::PATIENCE, sharing).await.expect("equal shares");

    for number in 0..1000 {
        shop::place(&db, number, Ending::Commit).await.unwrap();
    }
    until_settled(&db).await;

    for worker in [first, second] {
        worker.terminate().await;
        let (status, said) = worker.ended().await;
        assert!(status.success(), "{said}");
    }
    let journal = stub.journal();
    assert_eq!(journal.len(), 1000);
    assert_eq!(by_event(&journal).len(), 1000);
    let free = "SELECT count(*) FROM outbox_lane WHERE token IS NULL";
    assert_eq!(number(&db, free).await, 64, "lanes were not given back");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_workers_send_a_thousand_events_once_on_postgres() {
    let _alone = ALONE.lock().await;
    on_postgres(two_workers).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_workers_send_a_thousand_events_once_on_sqlite() {
    let _alone = ALONE.lock().await;
    on_sqlite(two_workers).await;
}
