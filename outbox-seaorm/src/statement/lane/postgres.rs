//! Leasing lanes on PostgreSQL, one statement and so one transaction each.
//!
//! Expiry is told by `clock_timestamp()`: `now()` stands still since the transaction began, so a
//! statement that waited for a lock would judge by an instant that has passed.

use outbox_core::{
    LaneLease, LaneState, LeaseRequest, LeaseTime, RecordRef, StoreError, TableNames,
};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, QueryResult, Statement, Value};
use uuid::Uuid;

use super::{bits, lane_rows, leases, states, still_held};
use crate::mapping::failed;
use crate::statement::clock::{LONGEST, Now, micros};

/// The statements about leases of one outbox.
#[derive(Debug)]
pub(crate) struct Lanes {
    lease: String,
    renew: String,
    release: String,
    acquired: String,
    mark: String,
}

impl Lanes {
    pub(crate) fn new(names: &TableNames, clock: Now) -> Self {
        Self {
            lease: lease(names, clock),
            renew: renew(names, clock),
            release: release(names, clock),
            acquired: acquired(names, clock),
            mark: mark(names, clock),
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
            request.orphans.map(micros).into(),
            request.counts_abandoned.into(),
            bits(&request.except).into(),
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
        states(leases, lane_rows(&rows)?)
    }

    pub(crate) async fn mark_suspect(
        &self,
        db: &DatabaseConnection,
        lease: &LaneLease,
        record: Option<RecordRef>,
    ) -> Result<bool, StoreError> {
        let values = [
            i16::from(lease.lane.number()).into(),
            lease.token.uuid().into(),
            record.map(|record| record.id.uuid()).into(),
            record.map(|record| record.position.0).into(),
        ];
        let statement = Statement::from_sql_and_values(DbBackend::Postgres, &self.mark, values);
        let done = db.execute_raw(statement).await.map_err(failed("mark_suspect"))?;
        Ok(done.rows_affected() > 0)
    }
}

/// A lane whose token is null was given back, and free since then; one that was never leased has
/// no expiry and is free for ever.
///
/// Rows that another statement has locked are skipped: whoever locks a lane is about to take it,
/// to renew it or to settle in it. Only one of the two lists is cut, so the rest may be longer than
/// what was asked for. A lane of the bits `$6` is taken only as an orphan.
fn lease(names: &TableNames, clock: Now) -> String {
    let now = clock.postgres();
    let (lane, due) = (names.quoted("lane", '"'), due(names, clock));
    format!(
        "WITH free AS MATERIALIZED (
    SELECT l.lane, l.token, l.owner FROM {lane} l
    WHERE (l.token IS NULL OR l.expires_at IS NULL OR l.expires_at <= {now})
        AND $6::bigint >> l.lane & 1 = 0
    ORDER BY l.lane LIMIT $1 FOR UPDATE SKIP LOCKED
), orphan AS MATERIALIZED (
    SELECT l.lane, l.token, l.owner FROM {lane} l
    WHERE $4::bigint IS NOT NULL AND (l.expires_at IS NULL
        OR l.expires_at < {now} - $4 * interval '1 microsecond')
    ORDER BY l.lane FOR UPDATE SKIP LOCKED
), taken AS (
    SELECT lane, token, owner FROM free UNION SELECT lane, token, owner FROM orphan
), judged AS MATERIALIZED (
    -- An expired lease of another owner: that worker may have died of a record.
    SELECT t.lane, CASE
        WHEN $5 AND t.token IS NOT NULL AND t.owner IS DISTINCT FROM $2 THEN {due} ELSE 0
    END AS died FROM taken t
)
UPDATE {lane} l SET token = gen_random_uuid(), owner = $2,
    expires_at = {now} + $3 * interval '1 microsecond',
    abandoned = l.abandoned + j.died,
    -- While it has an id, it is marked under the lease that ends here.
    suspect_deaths = l.suspect_deaths + CASE WHEN l.suspect_id IS NULL THEN 0 ELSE j.died END,
    suspect_id = NULL
FROM judged j WHERE l.lane = j.lane
RETURNING l.lane, l.token"
    )
}

/// One if a record of the lane of `t` is due, else zero. Asked as reads ask, so that it is looked up
/// in the order of an index whatever is known of the table.
fn due(names: &TableNames, clock: Now) -> String {
    let still = clock.postgres_still();
    let message = names.quoted("message", '"');
    format!(
        "coalesce((
            SELECT 1 FROM {message} m WHERE m.lane = t.lane
                AND m.available_at <= {still}
            ORDER BY m.available_at LIMIT 1
        ), (
            SELECT 1 FROM {message} m WHERE m.lane = t.lane
                AND CASE WHEN m.available_at IS NULL THEN true ELSE false END
            ORDER BY m.position LIMIT 1
        ), 0)"
    )
}

/// Marks the suspect `$3` at `$4`, or takes the mark from it: its id goes, place and deaths stay.
fn mark(names: &TableNames, clock: Now) -> String {
    let now = clock.postgres();
    let lane = names.quoted("lane", '"');
    format!(
        "UPDATE {lane} SET suspect_id = $3, suspect_position = coalesce($4, suspect_position),
    suspect_deaths = CASE WHEN coalesce($4, suspect_position) = suspect_position
        THEN suspect_deaths ELSE 0 END
WHERE lane = $1 AND token = $2 AND expires_at > {now}"
    )
}

fn renew(names: &TableNames, clock: Now) -> String {
    let now = clock.postgres();
    let (lane, held) = (names.quoted("lane", '"'), held(names, clock, "FOR NO KEY UPDATE"));
    format!(
        "WITH {held}
UPDATE {lane} l
SET expires_at = greatest(l.expires_at, {now} + $3 * interval '1 microsecond')
FROM held h WHERE l.lane = h.lane
RETURNING l.lane, l.token"
    )
}

/// Leaves the instant of the release as the expiry, so that a lane's free time can be told.
fn release(names: &TableNames, clock: Now) -> String {
    let now = clock.postgres();
    let (lane, held) = (names.quoted("lane", '"'), held(names, clock, "FOR NO KEY UPDATE"));
    format!(
        "WITH {held}
UPDATE {lane} l SET token = NULL, owner = NULL, expires_at = {now}
FROM held h WHERE l.lane = h.lane"
    )
}

/// The fence of whoever holds lanes: locks them in their order, before anything else is touched, and
/// tells which of the leases are live and with which of the lanes workers died. `$1` lanes, `$2` tokens.
///
/// Whether a lease is live is judged once the last lane is locked. Judged beside the lock, a lease
/// that ends while its lane is waited for would pass: a row that nobody changed is not looked at
/// again, and by then a record of it may be claimed. The clock stands beside a count, which is there
/// only when all rows are.
pub(in crate::statement) fn held(names: &TableNames, clock: Now, lock: &str) -> String {
    let now = clock.postgres();
    let lane = names.quoted("lane", '"');
    format!(
        "locked AS MATERIALIZED (
    SELECT k.lease, l.lane, l.expires_at, l.abandoned > 0 OR l.suspect_position IS NOT NULL AS lossy
    FROM {lane} l JOIN unnest($1::smallint[], $2::uuid[]) WITH ORDINALITY AS k (lane, token, lease)
        ON l.lane = k.lane AND l.token = k.token
    ORDER BY l.lane {lock} OF l
), judged AS MATERIALIZED (
    SELECT count(*) AS lanes, {now} AS instant FROM locked
), held AS MATERIALIZED (
    SELECT l.lease, l.lane, l.lossy FROM locked l, judged j WHERE l.expires_at > j.instant
)"
    )
}

/// All failed records of ordered keys, the parked keys, and the lanes that workers died with.
///
/// The records are looked up lane by lane, fenced in, in the index that holds no others: joined
/// freely, a plan made while nothing is known of the table may scan it whole.
fn acquired(names: &TableNames, clock: Now) -> String {
    let still = clock.postgres_still();
    let [message, parked_key, lane] =
        ["message", "parked_key", "lane"].map(|table| names.quoted(table, '"'));
    format!(
        "SELECT m.lane, m.topic, m.ordering_key, m.position,
    CASE WHEN isfinite(m.available_at)
        THEN (extract(epoch FROM m.available_at - {still}) * 1000000)::bigint
        WHEN m.available_at > {still} THEN {LONGEST}
    END AS due_in,
    NULL::uuid AS dead_id, NULL::smallint AS dead_lane,
    NULL::integer AS abandoned, NULL::integer AS deaths
FROM unnest($1::smallint[]) AS a (lane) CROSS JOIN LATERAL (
    SELECT * FROM {message} m
    WHERE m.lane = a.lane AND m.available_at IS NOT NULL
        AND m.attempts > 0 AND m.ordering_key IS NOT NULL OFFSET 0
) m
UNION ALL
SELECT k.lane, k.topic, k.ordering_key, k.dead_position, NULL, k.dead_id, k.dead_lane, NULL, NULL
FROM {parked_key} k WHERE k.lane = ANY($1)
UNION ALL
SELECT l.lane, NULL, NULL, l.suspect_position, NULL, NULL, NULL, l.abandoned, l.suspect_deaths
FROM {lane} l
WHERE l.lane = ANY($1) AND (l.abandoned > 0 OR l.suspect_position IS NOT NULL)
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
