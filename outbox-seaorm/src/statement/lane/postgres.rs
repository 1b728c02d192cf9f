//! Leasing lanes on PostgreSQL, one statement and so one transaction each.
//!
//! Expiry is told by `clock_timestamp()`: `now()` stands still since the transaction began, so a
//! statement that waited for a lock would judge by an instant that has passed.

use outbox_core::{LaneLease, LaneState, LeaseRequest, LeaseTime, StoreError, TableNames};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, QueryResult, Statement, Value};
use uuid::Uuid;

use super::{key_rows, leases, states, still_held};
use crate::mapping::failed;
use crate::statement::clock::micros;

/// The statements about leases of one outbox.
#[derive(Debug)]
pub(crate) struct Lanes {
    lease: String,
    renew: String,
    release: String,
    acquired: String,
}

impl Lanes {
    pub(crate) fn new(names: &TableNames) -> Self {
        Self {
            lease: lease(names),
            renew: renew(names),
            release: release(names),
            acquired: acquired(names),
        }
    }

    pub(crate) async fn lease(
        &self,
        db: &DatabaseConnection,
        request: &LeaseRequest,
    ) -> Result<Vec<LaneLease>, StoreError> {
        let values = [
            i64::from(request.lanes).into(),
            request.owner.uuid().into(),
            micros(request.lease.duration()).into(),
            request.orphans.into(),
        ];
        let mut leases = leases(&rows(db, "lease", &self.lease, values).await?, "lease")?;
        leases.sort_unstable_by_key(|lease| lease.lane);
        Ok(leases)
    }

    pub(crate) async fn renew(
        &self,
        db: &DatabaseConnection,
        asked: &[LaneLease],
        lease: LeaseTime,
    ) -> Result<Vec<LaneLease>, StoreError> {
        let (lanes, tokens) = arrays(asked);
        let values = [lanes.into(), tokens.into(), micros(lease.duration()).into()];
        let held = leases(&rows(db, "renew", &self.renew, values).await?, "renew")?;
        Ok(still_held(asked, &held))
    }

    pub(crate) async fn release(
        &self,
        db: &DatabaseConnection,
        leases: &[LaneLease],
    ) -> Result<(), StoreError> {
        let (lanes, tokens) = arrays(leases);
        let values = [lanes.into(), tokens.into()];
        let statement = Statement::from_sql_and_values(DbBackend::Postgres, &self.release, values);
        db.execute_raw(statement).await.map(drop).map_err(failed("release"))
    }

    pub(crate) async fn acquired(
        &self,
        db: &DatabaseConnection,
        leases: &[LaneLease],
    ) -> Result<Vec<LaneState>, StoreError> {
        let (lanes, _) = arrays(leases);
        let rows = rows(db, "acquired", &self.acquired, [lanes.into()]).await?;
        states(leases, key_rows(&rows)?)
    }
}

/// A lane whose token is null was given back, and free since then; one that was never leased has
/// no expiry and is free for ever.
///
/// Rows that another statement has locked are skipped: whoever locks a lane is about to take it,
/// to renew it or to settle in it. Only one of the two lists is cut, so the rest may be longer than
/// what was asked for.
fn lease(names: &TableNames) -> String {
    let lane = names.quoted("lane", '"');
    format!(
        "WITH free AS MATERIALIZED (
    SELECT l.lane, l.token, l.owner FROM {lane} l
    WHERE l.token IS NULL OR l.expires_at IS NULL OR l.expires_at <= clock_timestamp()
    ORDER BY l.lane LIMIT $1 FOR UPDATE SKIP LOCKED
), orphan AS MATERIALIZED (
    SELECT l.lane, l.token, l.owner FROM {lane} l
    WHERE $4 AND (l.expires_at IS NULL
        OR l.expires_at < clock_timestamp() - $3 * interval '1 microsecond')
    ORDER BY l.lane FOR UPDATE SKIP LOCKED
), taken AS (
    SELECT lane, token, owner FROM free UNION SELECT lane, token, owner FROM orphan
)
UPDATE {lane} l SET token = gen_random_uuid(), owner = $2,
    expires_at = clock_timestamp() + $3 * interval '1 microsecond',
    -- An expired lease of another owner: that worker may have died of a record.
    abandoned = l.abandoned
        + CASE WHEN t.token IS NOT NULL AND t.owner IS DISTINCT FROM $2 THEN 1 ELSE 0 END
FROM taken t WHERE l.lane = t.lane
RETURNING l.lane, l.token"
    )
}

fn renew(names: &TableNames) -> String {
    let (lane, held) = (names.quoted("lane", '"'), held(names));
    format!(
        "WITH held AS MATERIALIZED ({held})
UPDATE {lane} l
SET expires_at = greatest(l.expires_at, clock_timestamp() + $3 * interval '1 microsecond')
FROM held h WHERE l.lane = h.lane
RETURNING l.lane, l.token"
    )
}

/// Leaves the instant of the release as the expiry, so that a lane's free time can be told.
fn release(names: &TableNames) -> String {
    let (lane, held) = (names.quoted("lane", '"'), held(names));
    format!(
        "WITH held AS MATERIALIZED ({held})
UPDATE {lane} l SET token = NULL, owner = NULL, expires_at = clock_timestamp()
FROM held h WHERE l.lane = h.lane"
    )
}

/// The fence of the statements that change leases: locks the live ones in lane order.
fn held(names: &TableNames) -> String {
    let lane = names.quoted("lane", '"');
    format!(
        "
    SELECT l.lane FROM {lane} l
    JOIN unnest($1::smallint[], $2::uuid[]) AS k (lane, token)
        ON l.lane = k.lane AND l.token = k.token
    WHERE l.expires_at > clock_timestamp()
    ORDER BY l.lane FOR NO KEY UPDATE OF l
"
    )
}

/// All failed records of ordered keys, and the parked keys.
fn acquired(names: &TableNames) -> String {
    let (message, parked_key) = (names.quoted("message", '"'), names.quoted("parked_key", '"'));
    format!(
        "SELECT m.lane, m.topic, m.ordering_key, m.position,
    (extract(epoch FROM m.available_at - statement_timestamp()) * 1000000)::bigint AS due_in,
    NULL::uuid AS dead_id, NULL::smallint AS dead_lane
FROM {message} m
WHERE m.lane = ANY($1) AND m.available_at IS NOT NULL
    AND m.attempts > 0 AND m.ordering_key IS NOT NULL
UNION ALL
SELECT k.lane, k.topic, k.ordering_key, k.dead_position, NULL, k.dead_id, k.dead_lane
FROM {parked_key} k WHERE k.lane = ANY($1)
ORDER BY 1, 4"
    )
}

async fn rows<const N: usize>(
    db: &DatabaseConnection,
    operation: &'static str,
    text: &str,
    values: [Value; N],
) -> Result<Vec<QueryResult>, StoreError> {
    let statement = Statement::from_sql_and_values(DbBackend::Postgres, text, values);
    db.query_all_raw(statement).await.map_err(failed(operation))
}

fn arrays(leases: &[LaneLease]) -> (Vec<i16>, Vec<Uuid>) {
    leases.iter().map(|lease| (i16::from(lease.lane.number()), lease.token.uuid())).unzip()
}
