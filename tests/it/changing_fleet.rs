//! Workers that come and go while orders flow.

use std::collections::BTreeMap;

use outbox_test_databases::texts;
use outbox_testing::sns::Accepted;
use outbox_tests::process::Worker;
use outbox_tests::shop::{self, Ending};
use outbox_worker::CancellationToken;
use sea_orm::DatabaseConnection;

use crate::deliveries::{by_event, order_of, sent_by, shop_on, total_of, until_settled};
use crate::scene::{Scene, on_postgres};

/// How many lanes each worker holds, in order of size.
const SHARES: &str = "SELECT coalesce(string_agg(lanes::text, ' ' ORDER BY lanes), '') FROM (
    SELECT count(*) AS lanes FROM outbox_lane WHERE token IS NOT NULL GROUP BY owner) AS held";

/// Totals of each order, as they were committed one after another.
type Committed = BTreeMap<i64, Vec<i64>>;

/// Places orders and reprices each twice, a few others in between.
async fn trade_until(db: DatabaseConnection, end: CancellationToken) -> Committed {
    let mut committed = Committed::new();
    let mut open: Vec<i32> = Vec::new();
    for total in 0.. {
        if end.is_cancelled() {
            break;
        }
        let order_id = if total % 3 == 0 {
            let placed = shop::place(&db, total, Ending::Commit).await.unwrap();
            open.push(placed);
            placed
        } else {
            let back = usize::try_from(total).unwrap() % open.len().min(7);
            let order_id = open[open.len() - 1 - back];
            shop::reprice(&db, order_id, total).await.unwrap();
            order_id
        };
        committed.entry(order_id.into()).or_default().push(total);
    }
    committed
}

/// Returns once the lanes are shared out like this and each of these workers sends.
async fn until_shared(scene: &Scene, db: &DatabaseConnection, shares: &str, workers: &[&Worker]) {
    scene.until(shares, async || texts(db, SHARES).await == [shares]).await;
    let before = scene.stub.journal();
    let all_send = |journal: &[Accepted]| {
        let since = &journal[before.len()..];
        workers.iter().all(|worker| sent_by(since, worker.access_key_id()) > 0)
    };
    scene.within("send of every worker", scene.stub.accepted_until(all_send)).await;
}

async fn workers_come_and_go(scene: &Scene) {
    let db = shop_on(&scene.database).await;
    let mut setup = scene.setup();
    setup.settings.extend([
        ("OUTBOX_DISPATCHER__LEASE", "6s"),
        ("OUTBOX_DISPATCHER__PUBLISH_TIMEOUT", "3s"),
        ("OUTBOX_DISPATCHER__MARGIN", "500ms"),
    ]);
    let closing = CancellationToken::new();
    let trading = tokio::spawn(trade_until(db.clone(), closing.clone()));

    let (first, second) = (scene.worker(&setup).await, scene.worker(&setup).await);
    until_shared(scene, &db, "32 32", &[&first, &second]).await;
    let third = scene.worker(&setup).await;
    until_shared(scene, &db, "21 21 22", &[&first, &second, &third]).await;
    let (status, said) = first.stop().await;
    assert!(status.success(), "{said}");
    until_shared(scene, &db, "32 32", &[&second, &third]).await;
    closing.cancel();
    let committed = scene.within("end of the orders", trading).await.unwrap();
    until_settled(scene, &db).await;
    for worker in [second, third] {
        let (status, said) = worker.stop().await;
        assert!(status.success(), "{said}");
    }

    let journal = scene.stub.journal();
    assert_eq!(by_event(&journal).len(), journal.len(), "something was sent twice");
    let mut sent = Committed::new();
    for accepted in &journal {
        sent.entry(order_of(accepted)).or_default().push(total_of(accepted));
    }
    assert!(journal.len() > 100, "only {} events", journal.len());
    assert_eq!(sent, committed, "lost, never committed or out of order");
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_that_come_and_go_share_the_lanes_and_send_each_event_once_on_postgres() {
    on_postgres(workers_come_and_go).await;
}
