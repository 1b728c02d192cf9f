//! The worker table on PostgreSQL.

use outbox_core::{Fleet, StoreError, TableNames, WorkerCard};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, Statement};

use super::{FORGOTTEN, fleet, free, routed, topics};
use crate::mapping::{failed, unreadable};
use crate::statement::clock::{Now, micros};

/// The statement that says that a worker lives.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    text: String,
    others: String,
}

impl Heartbeat {
    pub(crate) fn new(names: &TableNames, clock: Now) -> Self {
        Self { text: heartbeat(names, clock), others: others(names, clock) }
    }

    pub(crate) async fn heartbeat(
        &self,
        db: &DatabaseConnection,
        worker: &WorkerCard,
    ) -> Result<Fleet, StoreError> {
        let values = [
            worker.id.uuid().into(),
            worker.version.as_str().into(),
            worker.max_format.0.into(),
            topics(worker).into(),
            worker.wants_lanes.map(i32::from).into(),
            micros(worker.alive_for).into(),
            micros(FORGOTTEN).into(),
        ];
        let statement = Statement::from_sql_and_values(DbBackend::Postgres, &self.text, values);
        let rows = db.query_all_raw(statement).await.map_err(failed("heartbeat"))?;
        let row = rows.first().ok_or_else(|| unreadable("heartbeat"))?;
        let stamp: i64 = row.try_get_by_index(3).map_err(failed("heartbeat"))?;
        let stamp = u64::try_from(stamp).map_err(|_| unreadable("heartbeat"))?;
        let routed = self.routed(db, worker).await?;
        Ok(Fleet { stamp: Some(stamp), routed, ..fleet(worker, row)? })
    }

    async fn routed(
        &self,
        db: &DatabaseConnection,
        worker: &WorkerCard,
    ) -> Result<Vec<String>, StoreError> {
        if worker.lacks.is_empty() {
            return Ok(Vec::new());
        }
        let values = [worker.id.uuid().into(), micros(worker.alive_for).into()];
        let statement = Statement::from_sql_and_values(DbBackend::Postgres, &self.others, values);
        routed(worker, &db.query_all_raw(statement).await.map_err(failed("heartbeat"))?)
    }
}

/// The statement does not see its own insert, so it counts the others only.
///
/// Rows that another worker is forgetting, or that come back to life, are skipped: two heartbeats
/// must not wait for each other.
fn heartbeat(names: &TableNames, clock: Now) -> String {
    let (now, still) = (clock.postgres(), clock.postgres_still());
    let worker = names.quoted("worker", '"');
    let free = free(names, '"', &still);
    format!(
        "WITH own AS (
    INSERT INTO {worker}
        (id, version, max_format, topics, wants_lanes, started_at, seen_at)
    VALUES ($1, $2, $3, $4, $5, {now}, {now})
    ON CONFLICT (id) DO UPDATE SET version = excluded.version,
        max_format = excluded.max_format, topics = excluded.topics,
        wants_lanes = excluded.wants_lanes, seen_at = excluded.seen_at
), forgotten AS (
    DELETE FROM {worker} WHERE id IN (
        SELECT w.id FROM {worker} w
        WHERE w.id <> $1
            AND w.seen_at < {still} - $7 * interval '1 microsecond'
        ORDER BY w.id FOR UPDATE SKIP LOCKED
    )
)
SELECT count(*), coalesce(sum(w.wants_lanes), 0), {free}, pg_current_xact_id()::text::bigint
FROM {worker} w
WHERE w.id <> $1 AND w.wants_lanes IS NOT NULL
    AND w.seen_at > {still} - $6 * interval '1 microsecond'"
    )
}

/// The topics of the other live workers that take part in sharing.
fn others(names: &TableNames, clock: Now) -> String {
    let still = clock.postgres_still();
    let worker = names.quoted("worker", '"');
    format!(
        "SELECT w.topics FROM {worker} w
WHERE w.id <> $1 AND w.wants_lanes IS NOT NULL
    AND w.seen_at > {still} - $2 * interval '1 microsecond'"
    )
}
