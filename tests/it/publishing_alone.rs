//! What a worker has open at its database while it waits for SNS.

use outbox_test_databases::number;
use outbox_tests::shop::{self, Ending};

use crate::deliveries::{FIRST_TO_EXPIRE, shop_on, until, until_all_lanes_are_held, until_settled};
use crate::scene::{Scene, on_postgres};

const SESSIONS: &str = "SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'outbox-worker'";
const NOW: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
async fn no_transaction(scene: &Scene) {
    let db = shop_on(&scene.database).await;
    let setup = scene.setup().with_short_leases();
    let answers = scene.stub.hold();
    let worker = scene.worker(&setup).await;
    until_all_lanes_are_held(scene, &db, 1).await;
    shop::place(&db, 100, Ending::Commit).await.unwrap();
    scene.within("send that hangs", answers.held_at_least(1)).await;
    let sending_since = number(&db, NOW).await;

    // Statements that had begun by then end by themselves; a transaction around the send would not.
    let older = format!("{SESSIONS} AND xact_start <= to_timestamp({sending_since} / 1000000.0)");
    scene.within("end of what was open", until(&db, &older, 0)).await;
    let idle = format!("{SESSIONS} AND state LIKE 'idle in transaction%'");
    let expiry = number(&db, FIRST_TO_EXPIRE).await;
    let mut idle_in_transaction = 0;
    let renewed = async || {
        idle_in_transaction += number(&db, &idle).await;
        number(&db, FIRST_TO_EXPIRE).await > expiry
    };
    scene.until("renewal", renewed).await;
    let (sessions, hangs) = (number(&db, SESSIONS).await, answers.held());
    answers.release();
    until_settled(scene, &db).await;

    assert_eq!(hangs, 1, "the send did not hang all the time");
    assert!(sessions > 0, "the worker's sessions have another name");
    assert_eq!(idle_in_transaction, 0);
    assert_eq!(scene.stub.journal().len(), 1);
    worker.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_transaction_is_open_while_a_send_hangs_on_postgres() {
    on_postgres(no_transaction).await;
}
