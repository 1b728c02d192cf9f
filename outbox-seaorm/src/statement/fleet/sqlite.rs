//! The worker table on SQLite.

use outbox_core::{Fleet, StoreError, TableNames, WorkerCard};
use sea_orm::DatabaseConnection;

use super::{FORGOTTEN, fleet, free, routed, topics};
use crate::mapping::{failed, unreadable};
use crate::statement::clock::{Now, micros};
use crate::store::immediate::Immediate;

/// The statements that say that a worker lives.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    beat: String,
    forget: String,
    others: String,
    theirs: String,
    clock: Now,
}

impl Heartbeat {
    pub(crate) fn new(names: &TableNames, clock: Now) -> Self {
        Self {
            beat: beat(names),
            forget: forget(names),
            others: others(names),
            theirs: theirs(names),
            clock,
        }
    }

    pub(crate) async fn heartbeat(
        &self,
        db: &DatabaseConnection,
        worker: &WorkerCard,
    ) -> Result<Fleet, StoreError> {
        let txn = Immediate::begin(db, "heartbeat", self.clock).await?;
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
        let (alive, silent) = (txn.now - micros(worker.alive_for), txn.now - micros(FORGOTTEN));
        let values = [id.clone().into(), alive.into(), txn.now.into(), silent.into()];
        let rows = txn.rows(&self.others, values).await?;
        let row = rows.first().ok_or_else(|| unreadable("heartbeat"))?;
        let forgotten: i64 = row.try_get_by_index(3).map_err(failed("heartbeat"))?;
        if forgotten > 0 {
            txn.execute(&self.forget, [id.clone().into(), silent.into()]).await?;
        }
        let mut fleet = fleet(worker, row)?;
        if !worker.lacks.is_empty() {
            let theirs = txn.rows(&self.theirs, [id.into(), alive.into()]).await?;
            fleet.routed = routed(worker, &theirs)?;
        }
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

/// The other live workers that take part in sharing, and how many are to be forgotten.
fn others(names: &TableNames) -> String {
    let (worker, free) = (names.quoted("worker", '"'), free(names, '"', "?3"));
    format!(
        "SELECT count(w.alive), coalesce(sum(w.alive), 0), {free}, coalesce(sum(w.silent), 0)
FROM (
    SELECT CASE WHEN seen_at > ?2 THEN wants_lanes END AS alive, seen_at < ?4 AS silent
    FROM {worker} WHERE id <> ?1
) AS w"
    )
}

/// The topics of the other live workers that take part in sharing.
fn theirs(names: &TableNames) -> String {
    let worker = names.quoted("worker", '"');
    format!(
        "SELECT topics FROM {worker} WHERE id <> ?1 AND seen_at > ?2 AND wants_lanes IS NOT NULL"
    )
}
