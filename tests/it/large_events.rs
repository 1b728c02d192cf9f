//! The worker has the limit of its topics from its settings, as the application has it from its own.

use outbox_seaorm::{OutboxEvent, Stage};
use outbox_test_databases::{number, texts};
use sea_orm::TransactionTrait;
use serde::Serialize;

use crate::scene::{Scene, on_sqlite};

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "reports.written", topic = "reports")]
struct ReportWritten {
    text: String,
}

/// The smallest that a topic can have, so that the event need not be large.
async fn a_smaller_limit_is_kept(scene: &Scene) {
    let db = scene.database.connect().await;
    outbox_migration::migrate(&db).await.unwrap();
    outbox_tests::shop::open(&db).await;
    let txn = db.begin().await.unwrap();
    txn.stage(ReportWritten { text: "x".repeat(2000) }).await.unwrap();
    txn.commit().await.unwrap();
    let mut setup = scene.setup();
    setup.settings.push(("OUTBOX_SNS__LIMIT", "1024"));

    let worker = scene.worker(&setup).await;
    let settled = async {
        while number(&db, "SELECT count(*) FROM outbox_message").await > 0 {
            tokio::task::yield_now().await;
        }
    };
    scene.within("the end of the event", settled).await;
    worker.kill().await;

    assert!(scene.stub.journal().is_empty());
    let errors = texts(&db, "SELECT last_error FROM outbox_dead_letter").await;
    let [error] = &errors[..] else { panic!("{errors:?}") };
    assert!(error.contains("the limit of its topic is 1024"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_in_the_settings_is_the_limit_of_every_topic() {
    on_sqlite(a_smaller_limit_is_kept).await;
}
