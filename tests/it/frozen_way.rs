//! Connections that are half gone: nothing passes, and nobody is told.

use outbox_test_databases::{Way, number};
use outbox_tests::shop::{self, Ending};

use crate::deliveries::{
    ABANDONED, DEAD, assert_sent, shop_on, until_all_lanes_are_held, until_settled,
};
use crate::scene::{Scene, on_postgres};
use crate::warnings::warnings;

/// One record waits to be settled when the way freezes, and one is staged meanwhile.
async fn frozen_for_a_while(scene: &Scene) {
    let db = shop_on(&scene.database).await;
    let way = Way::to(&scene.database.url).await;
    let mut setup = scene.setup();
    setup.database_url.clone_from(&way.url);
    setup.settings.push(("OUTBOX_DISPATCHER__STORE_TIMEOUT", "1s"));
    let worker = scene.worker(&setup).await;
    until_all_lanes_are_held(scene, &db, 1).await;
    let answers = scene.stub.hold();
    shop::place(&db, 1, Ending::Commit).await.unwrap();
    scene.within("send that waits", answers.held_at_least(1)).await;

    way.freeze();
    answers.release();
    shop::place(&db, 2, Ending::Commit).await.unwrap();
    for phase in ["lease", "read", "settle"] {
        worker.until_logged(&format!(r#"the store fails: waiting for it phase="{phase}""#)).await;
    }
    way.thaw();
    until_settled(scene, &db).await;
    worker.until_logged(r#"the store works again phase="lease""#).await;

    assert_sent(&scene.stub.journal(), 1, 2);
    assert_eq!((number(&db, DEAD).await, number(&db, ABANDONED).await), (0, 0));
    let (status, said) = worker.stop().await;
    assert!(status.success(), "{said}");
    for phase in ["lease", "read", "settle"] {
        let of_phase = format!("phase=\"{phase}\"");
        let lines = warnings(&said).filter(|line| line.contains(&of_phase)).count();
        assert_eq!(lines, 1, "about {phase}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_recovers_from_connections_that_are_half_gone_on_postgres() {
    on_postgres(frozen_for_a_while).await;
}
