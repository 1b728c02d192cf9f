//! A database server that dies while orders flow, and comes back.

use std::collections::HashSet;

use chrono::Utc;
use outbox_test_databases::{OwnPostgres, number, run, texts};
use outbox_testing::sns::Accepted;
use outbox_tests::process::Worker;
use outbox_tests::shop::{self, Ending};
use outbox_worker::CancellationToken;
use sea_orm::DatabaseConnection;

use crate::deliveries::{
    ABANDONED, DEAD, by_event, event_id, shop_on, total_of, until_all_lanes_are_held, until_settled,
};
use crate::scene::{Scene, on_own_postgres};

/// Messages that arrive before the kill, and after it.
const PROGRESS: usize = 50;

/// Places orders, whatever becomes of each.
async fn place_until(db: DatabaseConnection, end: CancellationToken) {
    for total in 0.. {
        if end.is_cancelled() {
            break;
        }
        // A commit without an answer may have been done, so the table of orders is what counts.
        let _ = shop::place(&db, total, Ending::Commit).await;
    }
}

/// Writes down when each record left the outbox.
async fn note_settlements(db: &DatabaseConnection) {
    run(db, "CREATE TABLE settled (id uuid, at timestamptz DEFAULT clock_timestamp())").await;
    run(
        db,
        "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN INSERT INTO settled (id) VALUES (OLD.id); RETURN NULL; END'",
    )
    .await;
    run(
        db,
        "CREATE TRIGGER note AFTER DELETE ON outbox_message FOR EACH ROW EXECUTE FUNCTION note()",
    )
    .await;
}

/// Kills the server while something is being sent, which is answered while the server is away.
///
/// Returns the query for what was not settled by then, and what was accepted by then.
async fn outage(
    scene: &Scene,
    server: &mut OwnPostgres,
    worker: &Worker,
) -> (String, HashSet<String>) {
    scene.within("progress", scene.stub.accepted_at_least(PROGRESS)).await;
    let answers = scene.stub.hold();
    scene.within("send that waits", answers.held_at_least(1)).await;
    let unsettled = format!("SELECT id::text FROM settled WHERE at >= '{}'", Utc::now());
    server.kill().await;
    answers.release();
    worker.until_logged(r#"the store fails: waiting for it phase="settle""#).await;
    server.start_again().await;
    let journal = scene.stub.journal();
    (unsettled, journal.iter().map(|accepted| event_id(accepted).to_owned()).collect())
}

async fn killed(scene: &Scene, server: &mut OwnPostgres) {
    let db = shop_on(&scene.database).await;
    note_settlements(&db).await;
    let mut setup = scene.setup();
    setup.settings.push(("OUTBOX_DISPATCHER__STORE_TIMEOUT", "1s"));
    let worker = scene.worker(&setup).await;
    until_all_lanes_are_held(scene, &db, 1).await;
    let closing = CancellationToken::new();
    let placing = tokio::spawn(place_until(db.clone(), closing.clone()));

    let (unsettled, accepted) = outage(scene, server, &worker).await;
    scene.within("progress", scene.stub.accepted_at_least(accepted.len() + PROGRESS)).await;
    closing.cancel();
    scene.within("end of the orders", placing).await.unwrap();
    until_settled(scene, &db).await;

    let unsettled: HashSet<String> = texts(&db, &unsettled).await.into_iter().collect();
    let in_flight: HashSet<&String> = accepted.intersection(&unsettled).collect();
    assert!(!in_flight.is_empty(), "nothing was under way");
    let journal = scene.stub.journal();
    let mut arrived: Vec<String> = distinct_totals(&journal);
    arrived.sort_unstable();
    let committed = texts(&db, "SELECT total::text FROM shop_order ORDER BY total::text").await;
    assert_eq!(arrived, committed, "lost or never committed");
    for (id, acceptances) in by_event(&journal) {
        let explained = acceptances.len() == 1 || in_flight.contains(&id.to_owned());
        assert!(explained, "{id} was sent again, and no outage explains it");
    }
    assert_eq!((number(&db, DEAD).await, number(&db, ABANDONED).await), (0, 0));
    let (status, said) = worker.stop().await;
    assert!(status.success(), "{said}");
}

fn distinct_totals(journal: &[Accepted]) -> Vec<String> {
    by_event(journal).values().map(|acceptances| total_of(acceptances[0]).to_string()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_outlives_a_server_that_is_killed_on_postgres() {
    on_own_postgres(killed).await;
}
