//! Processes that die of one record, and others that are only ended.

use std::collections::BTreeSet;

use outbox_test_databases::{POSTGRES_URL, TestDatabase, number, run, texts};
use outbox_tests::process::{Process, binary};
use outbox_tests::shop::{self, Ending};
use sea_orm::{Database, DatabaseConnection};
use tokio::process::Command;

use crate::deliveries::{ABANDONED, DEAD, LEFT, shop_on, until, until_all_lanes_are_held};
use crate::scene::{Scene, on_mariadb, on_postgres, on_sqlite};

const ORDERS: i64 = 60;
/// The total of the order whose event no process survives.
const DEADLY: i64 = 17;

async fn shop_with_orders(database: &TestDatabase) -> DatabaseConnection {
    let db = shop_on(database).await;
    for total in 0..ORDERS {
        shop::place(&db, total, Ending::Commit).await.unwrap();
    }
    db
}

/// A worker process with this setting.
fn start(scene: &Scene, setting: (&str, &str)) -> Process {
    let mut command = Command::new(binary("crash-prone-worker"));
    command.env_clear().env("DATABASE_URL", &scene.database.url).env(setting.0, setting.1);
    let worker = Process::start(command);
    scene.watch("crash-prone-worker", &worker);
    worker
}

/// Ends it in order.
async fn stop(worker: Process) {
    worker.terminate();
    let (status, said) = worker.ended().await;
    assert!(status.success(), "{status}: {said}");
}

/// Process after process aborts when it meets the record, until one does not send it any more.
async fn one_record_kills(scene: &Scene) {
    let db = shop_with_orders(&scene.database).await;
    let aborts_at = DEADLY.to_string();
    let (mut deaths, mut printed) = (0, String::new());
    loop {
        let mut worker = start(scene, ("ABORTS_AT", &aborts_at));
        let output = worker.printed();
        let died = tokio::select! {
            () = scene.within("end of the process", worker.gone()) => true,
            () = until(&db, LEFT, 0) => false,
        };
        if !died {
            stop(worker).await;
        }
        printed += &output.text();
        printed.push('\n');
        if !died {
            break;
        }
        deaths += 1;
        assert!(deaths < 20, "the processes die for ever");
    }

    let sent: BTreeSet<i64> = printed
        .lines()
        .filter_map(|line| line.strip_prefix("sent "))
        .map(|total| total.parse().unwrap())
        .collect();
    let innocent: BTreeSet<i64> = (0..ORDERS).filter(|total| *total != DEADLY).collect();
    assert_eq!(sent, innocent);
    assert!(deaths >= 6, "three raise the suspicion, three prove it: {deaths}");
    assert_eq!(texts(&db, "SELECT reason FROM outbox_dead_letter").await, ["worker_lost"]);
    assert_eq!(number(&db, ABANDONED).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_aborts_every_process_becomes_a_dead_letter_on_mariadb() {
    on_mariadb(one_record_kills).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_aborts_every_process_becomes_a_dead_letter_on_postgres() {
    on_postgres(one_record_kills).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_aborts_every_process_becomes_a_dead_letter_on_sqlite() {
    on_sqlite(one_record_kills).await;
}

/// Every record waits for its topic, so that nothing is settled that would be forgotten by.
#[tokio::test(flavor = "multi_thread")]
async fn a_rolling_restart_counts_against_no_record_on_postgres() {
    on_postgres(async |scene: &Scene| {
        let db = shop_with_orders(&scene.database).await;
        for _ in 0..4 {
            let worker = start(scene, ("REFUSES", "1"));
            until_all_lanes_are_held(scene, &db, 1).await;
            stop(worker).await;
        }

        let last = start(scene, ("REFUSES", "1"));
        until_all_lanes_are_held(scene, &db, 1).await;
        assert_eq!(number(&db, ABANDONED).await, 0);
        stop(last).await;
        assert_eq!((number(&db, LEFT).await, number(&db, DEAD).await), (ORDERS, 0));
    })
    .await;
}

/// The database goes away for longer than a lease, with every session, and comes back. In the last
/// outage a worker dies as well.
#[tokio::test(flavor = "multi_thread")]
async fn outages_of_the_database_count_against_no_record_on_postgres() {
    on_postgres(async |scene: &Scene| {
        let db = shop_with_orders(&scene.database).await;
        let (first, second) = (start(scene, ("REFUSES", "1")), start(scene, ("REFUSES", "1")));
        until_all_lanes_are_held(scene, &db, 2).await;
        for _ in 0..3 {
            outage(&scene.database).await;
            until_all_lanes_are_held(scene, &db, 2).await;
            assert_eq!(number(&db, ABANDONED).await, 0);
        }
        first.kill().await;
        outage(&scene.database).await;
        second.kill().await;

        let last = start(scene, ("ABORTS_AT", "-1"));
        scene.within("empty outbox", until(&db, LEFT, 0)).await;
        assert_eq!((number(&db, DEAD).await, number(&db, ABANDONED).await), (0, 0));
        stop(last).await;
    })
    .await;
}

/// Ends every session of the database, and lets none begin for longer than a lease.
async fn outage(database: &TestDatabase) {
    let server = Database::connect(std::env::var(POSTGRES_URL).unwrap()).await.unwrap();
    let name = database.name();
    run(&server, &format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false")).await;
    let end =
        format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'");
    run(&server, &end).await;
    run(&server, "SELECT pg_sleep(4)").await;
    run(&server, &format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true")).await;
}
