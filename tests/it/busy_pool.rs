//! A worker whose only connection for reads and settlements is blocked.

use outbox_test_databases::{number, run, texts};
use outbox_testing::sns::Fault;
use outbox_tests::shop::{self, Ending};
use sea_orm::TransactionTrait;

use crate::deliveries::{
    by_event, shop_on, until_all_lanes_are_held, until_renewed, until_settled,
};
use crate::scene::{Scene, on_postgres};

const WAITS_FOR_LOCK: &str = "SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'outbox-worker'
        AND wait_event_type = 'Lock'";
const TOKENS: &str = "SELECT token::text FROM outbox_lane ORDER BY lane";

/// One record waits to be settled and another one for SNS, while no table of records can be read.
async fn blocked(scene: &Scene) {
    let db = shop_on(&scene.database).await;
    let mut setup = scene.setup().with_sends_beyond_a_renewal();
    setup.settings.push(("OUTBOX_POOL__CONNECTIONS", "1"));
    let answers = scene.stub.hold();
    let worker = scene.worker(&setup).await;
    until_all_lanes_are_held(scene, &db, 1).await;
    shop::place(&db, 1, Ending::Commit).await.unwrap();
    scene.within("send that waits", answers.held_at_least(1)).await;
    scene.stub.script([Fault::AcceptThenHang]);
    shop::place(&db, 2, Ending::Commit).await.unwrap();
    scene.within("send that hangs", scene.stub.hung_at_least(1)).await;
    let tokens = texts(&db, TOKENS).await;

    let lock = db.begin().await.unwrap();
    run(&lock, "LOCK TABLE outbox_message IN ACCESS EXCLUSIVE MODE").await;
    answers.release();
    scene.until("session that waits", async || number(&db, WAITS_FOR_LOCK).await > 0).await;
    until_renewed(scene, &db).await;
    scene.stub.release_hung();
    until_renewed(scene, &db).await;
    lock.rollback().await.unwrap();
    until_settled(scene, &db).await;

    assert_eq!(texts(&db, TOKENS).await, tokens, "a lease was lost");
    let journal = scene.stub.journal();
    assert_eq!((journal.len(), by_event(&journal).len()), (2, 2), "something was sent twice");
    let (status, said) = worker.stop().await;
    assert!(status.success(), "{said}");
    assert!(!said.contains("lease lost"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn leases_are_renewed_while_reads_and_settlements_are_blocked_on_postgres() {
    on_postgres(blocked).await;
}
