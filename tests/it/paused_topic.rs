//! A topic that is paused with a long queue holds back no other, on the real stores.

use std::sync::Arc;
use std::time::Duration;

use outbox_core::{Failure, FailureKind, OutboxMessage};
use outbox_seaorm::{OutboxEvent, OutboxSettings, Stage, scope};
use outbox_test_databases::{Lent, lend_mariadb, lend_postgres, lend_sqlite, run};
use outbox_testing::{ScriptedPublisher, Times};
use outbox_tests::process::PATIENCE;
use outbox_tests::store::lane_store;
use outbox_worker::{CancellationToken, Dispatcher, DispatcherSettings};
use sea_orm::TransactionTrait;
use serde::Serialize;

/// More than a read looks at when it looks for others, in every lane.
const QUEUE: u32 = 140_000;
const OTHERS: usize = 20;

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "reports.written", topic = "open")]
struct ReportWritten;

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_topic_holds_back_no_other_on_mariadb() {
    let id = "UNHEX(REPLACE(UUID(), '-', ''))";
    send_past_a_queue(lend_mariadb().await, id, &format!("seq_1_to_{QUEUE}")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_topic_holds_back_no_other_on_postgres() {
    let numbers = format!("generate_series(1, {QUEUE}) AS n (seq)");
    send_past_a_queue(lend_postgres().await, "gen_random_uuid()", &numbers).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_topic_holds_back_no_other_on_sqlite() {
    let numbers = format!(
        "(WITH RECURSIVE n (seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n WHERE seq < {QUEUE})
        SELECT seq FROM n)"
    );
    send_past_a_queue(lend_sqlite(), "randomblob(16)", &numbers).await;
}

async fn send_past_a_queue(database: Lent, id: &str, numbers: &str) {
    let db = database.connect().await;
    outbox_migration::migrate(&db).await.unwrap();
    run(
        &db,
        &format!(
            "INSERT INTO outbox_message (lane, id, format, event_type, event_version, topic, source,
                content_type, payload, size, occurred_at)
            SELECT seq % 64, {id}, 1, 'reports.written', 1, 'closed', 'shop', 'application/json', '0',
                100, {} FROM {numbers}",
            if database.is_postgres() || database.is_mariadb() { "CURRENT_TIMESTAMP" } else { "0" }
        ),
    )
    .await;
    let publisher = ScriptedPublisher::new();
    let closed = |message: &OutboxMessage| &*message.topic == "closed";
    let missing = Failure::new(FailureKind::Destination, "there is no such topic");
    publisher.fail_when(closed, Times::Always, missing);
    let mut settings = DispatcherSettings::default();
    settings.lease = Duration::from_secs(3);
    settings.publish_timeout = Duration::from_secs(1);
    settings.margin = Duration::from_millis(100);
    let dispatcher = Dispatcher::builder(lane_store(&database).await, Arc::new(publisher.clone()));
    let dispatcher = dispatcher.settings(settings).build().unwrap();
    let shutdown = CancellationToken::new();
    let running = tokio::spawn(dispatcher.run(shutdown.clone()));

    let txn = db.begin().await.unwrap();
    let others = (0..OTHERS).map(|_| ReportWritten).collect::<Vec<_>>();
    let staged = scope(OutboxSettings::new("https://shop.example"), txn.stage_all(others)).await;
    staged.unwrap();
    txn.commit().await.unwrap();
    let sent = tokio::time::timeout(PATIENCE, publisher.accepted_at_least(OTHERS)).await;
    shutdown.cancel();
    running.await.unwrap();

    assert_eq!(sent.map(|sent| sent.len()), Ok(OTHERS));
}
