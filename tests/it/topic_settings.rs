//! The worker has the profiles of its topics from its settings, as the application has them from its own.

use outbox_seaorm::{EventExt, OutboxEvent, Stage};
use outbox_test_databases::{number, texts};
use outbox_testing::sns::Accepted;
use sea_orm::TransactionTrait;
use serde::Serialize;

use crate::scene::{Scene, on_sqlite};

const SETTINGS: &str = r#"
[sns.topics]
audit = "arn:aws:sns:us-east-1:000000000000:audit-log"

[sns.topics.reports]
limit = 1024

[sns.topics."Orders.fifo"]
arn = "arn:aws:sns:us-east-1:000000000000:orders.fifo"
envelope = "binary"
filter_headers = ["tier"]
"#;

#[derive(Clone, Serialize, OutboxEvent)]
#[outbox(type = "reports.written", topic = "reports")]
struct ReportWritten {
    text: String,
}

/// Stages one event for each topic and returns once the worker is done with all of them.
async fn play(scene: &Scene) {
    let db = scene.database.connect().await;
    outbox_migration::migrate(&db).await.unwrap();
    outbox_tests::shop::open(&db).await;
    // The smallest limit that a topic can have, so that the event need not be large.
    let event = ReportWritten { text: "x".repeat(2000) };
    let txn = db.begin().await.unwrap();
    for topic in ["audit", "reports", "Orders.fifo", "others"] {
        let headers = [("region", "eu"), ("tier", "gold"), ("channel", "web")];
        txn.stage(event.clone().to_topic(topic).with_headers(headers)).await.unwrap();
    }
    txn.commit().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("outbox.toml");
    std::fs::write(&file, SETTINGS).unwrap();
    let mut setup = scene.setup();
    setup.settings_file = Some(file);
    setup.settings.push(("OUTBOX_SNS__FILTER_HEADERS", "region,channel"));

    let worker = scene.worker(&setup).await;
    let settled = async {
        while number(&db, "SELECT count(*) FROM outbox_message").await > 0 {
            tokio::task::yield_now().await;
        }
    };
    scene.within("the end of the events", settled).await;
    worker.kill().await;
}

/// What was sent to the topic of this name at SNS.
fn sent(scene: &Scene, topic: &str) -> Option<Accepted> {
    let arn = format!("arn:aws:sns:us-east-1:000000000000:{topic}");
    scene.stub.journal().into_iter().find(|accepted| accepted.topic_arn == arn)
}

fn filters(accepted: &Accepted) -> [Option<&str>; 3] {
    ["region", "channel", "tier"].map(|name| accepted.attribute(name))
}

async fn each_topic_has_its_own(scene: &Scene) {
    play(scene).await;

    for topic in ["audit-log", "others"] {
        let sent = sent(scene, topic).unwrap();
        assert_eq!(filters(&sent), [Some("eu"), Some("web"), None], "{topic}");
    }
    let order = sent(scene, "orders.fifo").unwrap();
    assert_eq!(filters(&order), [None, None, Some("gold")]);
    assert!(order.message.starts_with(r#"{"text":"xxx"#), "{}", order.message);
    assert!(sent(scene, "reports").is_none());
    let db = scene.database.connect().await;
    let errors = texts(&db, "SELECT last_error FROM outbox_dead_letter").await;
    let [error] = &errors[..] else { panic!("{errors:?}") };
    assert!(error.contains("the limit of its topic is 1024"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_topic_has_the_form_limit_and_filter_headers_of_the_settings() {
    on_sqlite(each_topic_has_its_own).await;
}
