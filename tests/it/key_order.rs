//! Key order against transactions that overlap: break A1, on the real PostgreSQL.

use std::sync::Arc;

use outbox_core::EventId;
use outbox_seaorm::{EventExt, OutboxSettings, Stage, scope};
use outbox_test_databases::on_postgres;
use outbox_testing::ScriptedPublisher;
use outbox_tests::process::PATIENCE;
use outbox_tests::shop::Repriced;
use outbox_tests::store::lane_store;
use outbox_worker::{CancellationToken, Dispatcher};
use sea_orm::{DatabaseConnection, DatabaseTransaction, TransactionTrait};

async fn stage(txn: &DatabaseTransaction, order_id: i32) -> EventId {
    let id = EventId::new();
    txn.stage(Repriced { order_id, total: 1 }.with_id(id)).await.unwrap();
    id
}

/// A record that is stranded never arrives: that must fail and not hang.
async fn accepted(publisher: &ScriptedPublisher, messages: usize) -> Vec<EventId> {
    let arrived = publisher.accepted_at_least(messages);
    tokio::time::timeout(PATIENCE, arrived).await.expect("every committed record in time")
}

/// T1 stages the first record of a key and stays open; others commit; the cursor passes; T1 commits;
/// only then the second record of the key is staged.
async fn overtaken_rounds(db: DatabaseConnection, publisher: &ScriptedPublisher) {
    for round in 0..25 {
        let late = db.begin().await.unwrap();
        let first = stage(&late, round).await;
        let others = db.begin().await.unwrap();
        for other in 0..64 {
            stage(&others, 1000 + other).await;
        }
        others.commit().await.unwrap();
        let before = usize::try_from(round).unwrap() * 66;
        accepted(publisher, before + 64).await;

        late.commit().await.unwrap();
        let after = db.begin().await.unwrap();
        let second = stage(&after, round).await;
        after.commit().await.unwrap();
        let accepted = accepted(publisher, before + 66).await;

        assert_eq!(accepted[before + 64..], [first, second], "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_commit_is_sent_before_what_was_staged_after_it() {
    on_postgres(async |database| {
        let db = database.connect_with(3).await;
        outbox_migration::migrate(&db).await.unwrap();
        let store = lane_store(&database).await;
        let publisher = ScriptedPublisher::new();
        let dispatcher = Dispatcher::builder(store, Arc::new(publisher.clone())).build().unwrap();
        let shutdown = CancellationToken::new();
        let running = tokio::spawn(dispatcher.run(shutdown.clone()));

        let settings = OutboxSettings::new("https://shop.example");
        scope(settings, overtaken_rounds(db, &publisher)).await;

        shutdown.cancel();
        running.await.unwrap();
    })
    .await;
}
