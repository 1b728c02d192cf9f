//! The worker table on MariaDB and MySQL.

use outbox_core::{Fleet, StoreError, TableNames, WorkerCard};
use sea_orm::{ConnectionTrait, DatabaseConnection, Value};

use super::{FORGOTTEN, fleet, free, routed, topics};
use crate::mapping::{failed, unreadable};
use crate::statement::clock::{Now, micros};
use crate::store::brief::{Brief, repeated, statement};

/// The statements that say that a worker lives.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    beat: String,
    others: String,
    theirs: String,
    silent: String,
    forget: String,
}

impl Heartbeat {
    pub(crate) fn new(names: &TableNames, clock: Now) -> Self {
        Self {
            beat: beat(names, clock),
            others: others(names, clock),
            theirs: theirs(names, clock),
            silent: silent(names, clock),
            forget: forget(names),
        }
    }

    pub(crate) async fn heartbeat(
        &self,
        db: &DatabaseConnection,
        worker: &WorkerCard,
    ) -> Result<Fleet, StoreError> {
        repeated(|| self.beat(db, worker)).await?;
        let id = Value::from(worker.id.uuid().as_bytes().to_vec());
        let values = [micros(worker.alive_for).into(), micros(FORGOTTEN).into(), id];
        let row = db.query_one_raw(statement(&self.others, values)).await;
        let row = row.map_err(failed("heartbeat"))?.ok_or_else(|| unreadable("heartbeat"))?;
        let forgotten: i64 = row.try_get_by_index(3).map_err(failed("heartbeat"))?;
        if forgotten > 0 {
            repeated(|| self.forget(db)).await?;
        }
        Ok(Fleet { routed: self.routed(db, worker).await?, ..fleet(worker, &row)? })
    }

    async fn routed(
        &self,
        db: &DatabaseConnection,
        worker: &WorkerCard,
    ) -> Result<Vec<String>, StoreError> {
        if worker.lacks.is_empty() {
            return Ok(Vec::new());
        }
        let id = Value::from(worker.id.uuid().as_bytes().to_vec());
        let values = [micros(worker.alive_for).into(), id];
        let rows = db.query_all_raw(statement(&self.theirs, values)).await;
        routed(worker, &rows.map_err(failed("heartbeat"))?)
    }

    async fn beat(&self, db: &DatabaseConnection, worker: &WorkerCard) -> Result<(), StoreError> {
        let card = [
            worker.id.uuid().as_bytes().to_vec().into(),
            worker.version.as_str().into(),
            worker.max_format.0.into(),
            topics(worker).into(),
            worker.wants_lanes.map(i32::from).into(),
        ];
        let done = db.execute_raw(statement(&self.beat, card)).await;
        done.map(drop).map_err(failed("heartbeat"))
    }

    async fn forget(&self, db: &DatabaseConnection) -> Result<(), StoreError> {
        let txn = Brief::begin(db, "heartbeat").await?;
        for row in txn.rows(&self.silent, [micros(FORGOTTEN).into()]).await? {
            let id: Vec<u8> = row.try_get_by_index(0).map_err(failed("heartbeat"))?;
            txn.execute(&self.forget, [id.into()]).await?;
        }
        txn.commit().await
    }
}

fn beat(names: &TableNames, clock: Now) -> String {
    let now = clock.mysql();
    let worker = names.quoted("worker", '`');
    format!(
        "INSERT INTO {worker} (id, version, max_format, topics, wants_lanes, started_at, seen_at)
VALUES (?, ?, ?, ?, ?, {now}, {now})
ON DUPLICATE KEY UPDATE version = VALUES(version), max_format = VALUES(max_format),
    topics = VALUES(topics), wants_lanes = VALUES(wants_lanes), seen_at = VALUES(seen_at)"
    )
}

/// The other live workers that take part in sharing, and how many are to be forgotten.
fn others(names: &TableNames, clock: Now) -> String {
    let now = clock.mysql();
    let worker = names.quoted("worker", '`');
    let free = free(names, '`', &now);
    format!(
        "SELECT COUNT(w.alive), CAST(COALESCE(SUM(w.alive), 0) AS SIGNED), {free},
    CAST(COALESCE(SUM(w.silent), 0) AS SIGNED)
FROM (
    SELECT IF(seen_at > {now} - INTERVAL ? MICROSECOND, wants_lanes, NULL)
        AS alive, seen_at < {now} - INTERVAL ? MICROSECOND AS silent
    FROM {worker} WHERE id <> ?
) AS w"
    )
}

/// The topics of the other live workers that take part in sharing.
fn theirs(names: &TableNames, clock: Now) -> String {
    let now = clock.mysql();
    let worker = names.quoted("worker", '`');
    format!(
        "SELECT topics FROM {worker}
WHERE seen_at > {now} - INTERVAL ? MICROSECOND AND id <> ?
    AND wants_lanes IS NOT NULL"
    )
}

/// Rows that another worker is forgetting, or that come back to life, are skipped: two heartbeats
/// must not wait for each other.
fn silent(names: &TableNames, clock: Now) -> String {
    let now = clock.mysql();
    let worker = names.quoted("worker", '`');
    format!(
        "SELECT id FROM {worker} WHERE seen_at < {now} - INTERVAL ? MICROSECOND
ORDER BY id FOR UPDATE SKIP LOCKED"
    )
}

fn forget(names: &TableNames) -> String {
    let worker = names.quoted("worker", '`');
    format!("DELETE FROM {worker} WHERE id = ?")
}
