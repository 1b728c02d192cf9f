//! A database that takes no writes for a while, as after a failover to another server.

use outbox_test_databases::{number, run};
use outbox_tests::shop::{self, Ending};

use crate::deliveries::{
    ABANDONED, DEAD, assert_sent, shop_on, until_all_lanes_are_held, until_settled,
};
use crate::scene::{Scene, on_postgres};
use crate::warnings::{failures, warnings};

const END_SESSIONS: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'outbox-worker'";
const REFUSED: &str =
    "SELECT xact_rollback FROM pg_stat_database WHERE datname = current_database()";

/// The sessions that the worker has opened meanwhile stay read-only, as those of a server do that is
/// the primary no longer: it must open others.
async fn read_only_for_a_while(scene: &Scene) {
    let db = shop_on(&scene.database).await;
    let name = scene.database.name();
    // One session, which began before and may always write.
    let operator = scene.database.connect_with(1).await;
    let worker = scene.worker(&scene.setup()).await;
    until_all_lanes_are_held(scene, &db, 1).await;
    let answers = scene.stub.hold();
    shop::place(&db, 1, Ending::Commit).await.unwrap();
    scene.within("send that waits", answers.held_at_least(1)).await;

    run(&operator, &format!("ALTER DATABASE {name} SET default_transaction_read_only = on")).await;
    run(&operator, END_SESSIONS).await;
    answers.release();
    worker.until_logged(r#"the store fails: waiting for it phase="lease""#).await;
    let before = number(&operator, REFUSED).await;
    scene.until("refusals", async || number(&operator, REFUSED).await >= before + 3).await;
    run(&operator, &format!("ALTER DATABASE {name} RESET default_transaction_read_only")).await;
    until_settled(scene, &db).await;
    // Of the application's sessions some began meanwhile, too.
    let db = scene.database.connect().await;
    shop::place(&db, 2, Ending::Commit).await.unwrap();
    until_settled(scene, &db).await;
    worker.until_logged(r#"the store works again phase="lease""#).await;

    assert_sent(&scene.stub.journal(), 1, 2);
    assert_eq!((number(&db, DEAD).await, number(&db, ABANDONED).await), (0, 0));
    let (status, said) = worker.stop().await;
    assert!(status.success(), "{said}");
    assert!(failures(&said, "settle") > 1, "{said}");
    for phase in ["lease", "read", "settle"] {
        let of_phase = format!("phase=\"{phase}\"");
        let lines = warnings(&said).filter(|line| line.contains(&of_phase)).count();
        assert!(lines <= 1, "{lines} lines about {phase}: {said}");
    }
    // One for each phase, and one about wake-ups.
    assert!(warnings(&said).count() <= 4, "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_waits_for_a_database_that_takes_no_writes_on_postgres() {
    on_postgres(read_only_for_a_while).await;
}
