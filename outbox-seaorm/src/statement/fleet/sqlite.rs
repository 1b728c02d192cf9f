//! The worker table on SQLite.

use outbox_core::{Fleet, StoreError, TableNames, WorkerCard};
use sea_orm::DatabaseConnection;

use super::{FORGOTTEN, fleet, topics};
use crate::mapping::unreadable;
use crate::statement::clock::micros;
use crate::store::immediate::Immediate;

/// The statements that say that a worker lives.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    beat: String,
    forget: String,
    others: String,
}

impl Heartbeat {
    pub(crate) fn new(names: &TableNames) -> Self {
        Self { beat: beat(names), forget: forget(names), others: others(names) }
    }

    pub(crate) async fn heartbeat(
        &self,
        db: &DatabaseConnection,
        worker: &WorkerCard,
    ) -> Result<Fleet, StoreError> {
        let txn = Immediate::begin(db, "heartbeat").await?;
        let id = worker.id.uuid().as_bytes().to_vec();
        let card = [
            id.clone().into(),
            worker.version.as_str().into(),
            worker.max_format.0.into(),
            topics(worker).into(),
            worker.wants_lanes.map(i32::from).into(),
            txn.now.into(),
        ];
        txn.execute(&self.beat, card).await?;
        let forgotten = txn.now - micros(FORGOTTEN);
        txn.execute(&self.forget, [id.clone().into(), forgotten.into()]).await?;
        let alive = txn.now - micros(worker.alive_for);
        let rows = txn.rows(&self.others, [id.into(), alive.into()]).await?;
        let fleet = fleet(worker, rows.first().ok_or_else(|| unreadable("heartbeat"))?)?;
        txn.commit().await?;
        Ok(fleet)
    }
}

fn beat(names: &TableNames) -> String {
    let worker = names.quoted("worker", '"');
    format!(
        "INSERT INTO {worker} (id, version, max_format, topics, wants_lanes, started_at, seen_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)
ON CONFLICT (id) DO UPDATE SET version = excluded.version, max_format = excluded.max_format,
    topics = excluded.topics, wants_lanes = excluded.wants_lanes, seen_at = excluded.seen_at"
    )
}

fn forget(names: &TableNames) -> String {
    let worker = names.quoted("worker", '"');
    format!("DELETE FROM {worker} WHERE id <> ?1 AND seen_at < ?2")
}

/// The other live workers that take part in sharing.
fn others(names: &TableNames) -> String {
    let worker = names.quoted("worker", '"');
    format!(
        "SELECT count(*), coalesce(sum(wants_lanes), 0) FROM {worker}
WHERE id <> ?1 AND wants_lanes IS NOT NULL AND seen_at > ?2"
    )
}
