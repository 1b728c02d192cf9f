//! The worker process listens for the commits of writers, unless it is told not to.

use outbox_test_databases::number;

use crate::scene::{Scene, on_postgres};

const LISTENING: &str = "SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND query = 'LISTEN \"outbox_wake\"'";

async fn listens(scene: &Scene) {
    let db = scene.database.connect().await;
    outbox_migration::migrate(&db).await.unwrap();
    let worker = scene.worker(&scene.setup()).await;

    let heard = async {
        while number(&db, LISTENING).await == 0 {
            tokio::task::yield_now().await;
        }
    };
    scene.within("a session that listens", heard).await;

    worker.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_listens_for_commits() {
    on_postgres(listens).await;
}

async fn does_not(scene: &Scene) {
    let db = scene.database.connect().await;
    outbox_migration::migrate(&db).await.unwrap();
    let mut setup = scene.setup();
    setup.settings.push(("OUTBOX_POOL__LISTEN", "false"));

    // It connects before it says that it runs.
    let worker = scene.worker(&setup).await;
    let sessions = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()
            AND query LIKE 'LISTEN%'";
    assert_eq!(number(&db, sessions).await, 0);

    worker.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_told_not_to_listen_does_not() {
    on_postgres(does_not).await;
}
