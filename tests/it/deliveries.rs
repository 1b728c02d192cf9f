//! What processes have delivered of an application's orders, and what is left of them.

use std::collections::HashMap;

use outbox_test_databases::{TestDatabase, number};
use outbox_testing::sns::Accepted;
use outbox_tests::shop;
use sea_orm::DatabaseConnection;
use serde_json::Value;

use crate::scene::Scene;

pub(crate) const LEFT: &str = "SELECT count(*) FROM outbox_message";
pub(crate) const DEAD: &str = "SELECT count(*) FROM outbox_dead_letter";
pub(crate) const FREE_LANES: &str = "SELECT count(*) FROM outbox_lane WHERE token IS NULL";
pub(crate) const ABANDONED: &str = "SELECT count(*) FROM outbox_lane WHERE abandoned > 0";
/// Moves with every renewal of the leases.
pub(crate) const FIRST_TO_EXPIRE: &str =
    "SELECT (extract(epoch FROM min(expires_at)) * 1000000)::bigint FROM outbox_lane";

/// An order table and an outbox.
pub(crate) async fn shop_on(database: &TestDatabase) -> DatabaseConnection {
    let db = database.connect_with(4).await;
    outbox_migration::migrate(&db).await.unwrap();
    shop::open(&db).await;
    db
}

pub(crate) fn event_id(accepted: &Accepted) -> &str {
    accepted.attribute("ce_id").unwrap()
}

/// The process that sent it.
pub(crate) fn sender(accepted: &Accepted) -> &str {
    accepted.access_key_id.as_deref().unwrap()
}

/// Totals are unique; ids of orders that were rolled back are given again.
pub(crate) fn total_of(accepted: &Accepted) -> i64 {
    data(accepted)["total"].as_i64().unwrap()
}

/// The key of the event.
pub(crate) fn order_of(accepted: &Accepted) -> i64 {
    data(accepted)["order_id"].as_i64().unwrap()
}

fn data(accepted: &Accepted) -> Value {
    let mut event: Value = serde_json::from_str(&accepted.message).unwrap();
    event["data"].take()
}

/// Acceptances of each event, in order.
pub(crate) fn by_event(journal: &[Accepted]) -> HashMap<&str, Vec<&Accepted>> {
    let mut events: HashMap<&str, Vec<&Accepted>> = HashMap::new();
    for accepted in journal {
        events.entry(event_id(accepted)).or_default().push(accepted);
    }
    events
}

/// How many messages were accepted from this process.
pub(crate) fn sent_by(journal: &[Accepted], process: &str) -> usize {
    journal.iter().filter(|accepted| sender(accepted) == process).count()
}

/// Both orders arrived, one of them once. The other was under way when its outcome could not be
/// written, and where that takes a whole lease it is sent again.
pub(crate) fn assert_sent(journal: &[Accepted], under_way: i64, once: i64) {
    let totals: Vec<i64> = journal.iter().map(total_of).collect();
    let times = |order| totals.iter().filter(|total| **total == order).count();
    assert!((1..=2).contains(&times(under_way)) && times(once) == 1, "{totals:?}");
    assert_eq!(by_event(journal).len(), 2, "an event of no order");
}

/// Returns once the query answers this.
pub(crate) async fn until(db: &DatabaseConnection, sql: &str, expected: i64) {
    while number(db, sql).await != expected {
        tokio::task::yield_now().await;
    }
}

pub(crate) async fn until_settled(scene: &Scene, db: &DatabaseConnection) {
    scene.within("empty outbox", until(db, LEFT, 0)).await;
}

/// Returns once so many workers hold all lanes.
pub(crate) async fn until_all_lanes_are_held(scene: &Scene, db: &DatabaseConnection, workers: i64) {
    let held = "SELECT count(*) FROM outbox_lane WHERE expires_at > clock_timestamp()";
    let owners = "SELECT count(DISTINCT owner) FROM outbox_lane WHERE token IS NOT NULL";
    scene.within("lease of every lane", until(db, held, 64)).await;
    scene.within("share of every worker", until(db, owners, workers)).await;
}

/// Returns once every lease was prolonged, which is done a third of the lease after the last time.
pub(crate) async fn until_renewed(scene: &Scene, db: &DatabaseConnection) {
    let before = number(db, FIRST_TO_EXPIRE).await;
    scene.until("renewal", async || number(db, FIRST_TO_EXPIRE).await > before).await;
}
