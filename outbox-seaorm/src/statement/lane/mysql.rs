//! Leasing lanes on MariaDB and MySQL, each change in one short transaction.
//!
//! `STRAIGHT_JOIN` and the forced key are part of the protocol: lanes are then looked up one by one
//! in the order of the list, which is that of their numbers, and so locked in it. No other lane is
//! touched, whatever the server's statistics say.

use std::fmt::Write as _;

use outbox_core::{
    Lane, LaneLease, LaneState, LeaseRequest, LeaseTime, LeaseToken, RecordRef, StoreError,
    TableNames,
};
use sea_orm::{ConnectionTrait, DatabaseConnection, QueryResult, Value};
use uuid::Uuid;

use super::{bits, lane_rows, states, still_held};
use crate::mapping::failed;
use crate::statement::clock::{Now, micros};
use crate::statement::json::{hex, json_lanes, json_leases, json_list};
use crate::store::brief::{Brief, repeated, statement};

/// The statements about leases of one outbox.
#[derive(Debug)]
pub(crate) struct Lanes {
    free: String,
    orphans: String,
    due: String,
    take: String,
    mark: String,
    held: String,
    held_alone: String,
    renew: String,
    release: String,
    names: TableNames,
    clock: Now,
}

impl Lanes {
    pub(crate) fn new(names: &TableNames, clock: Now) -> Self {
        Self {
            free: free(names, clock),
            orphans: orphans(names, clock),
            due: due(names, clock),
            take: take(names, clock),
            mark: mark(names, clock),
            held: held(names, clock, ""),
            held_alone: held(names, clock, "FOR UPDATE"),
            renew: renew(names, clock),
            release: release(names, clock),
            names: names.clone(),
            clock,
        }
    }

    pub(crate) async fn lease(
        &self,
        db: &DatabaseConnection,
        request: &LeaseRequest,
    ) -> Result<Vec<LaneLease>, StoreError> {
        repeated(|| self.try_lease(db, request)).await
    }

    async fn try_lease(
        &self,
        db: &DatabaseConnection,
        request: &LeaseRequest,
    ) -> Result<Vec<LaneLease>, StoreError> {
        let owner = || Value::from(request.owner.uuid().as_bytes().to_vec());
        let lease = micros(request.lease.duration());
        let txn = Brief::begin(db, "lease").await?;
        let free = [owner(), bits(&request.except).into(), i64::from(request.lanes).into()];
        let mut rows = txn.rows(&self.free, free).await?;
        if let Some(free_for) = request.orphans {
            rows.extend(txn.rows(&self.orphans, [owner(), micros(free_for).into()]).await?);
        }
        let mut taken = taken(&rows)?;
        self.judge(&txn, request, &mut taken).await?;
        if !taken.is_empty() {
            let values = [json_taken(&taken).into(), owner(), lease.into()];
            txn.execute(&self.take, values).await?;
        }
        txn.commit().await?;
        Ok(taken.into_iter().map(|taken| taken.lease).collect())
    }

    /// Counts only lanes with a record that is due. Such a lane is rare, so it is asked for apart.
    async fn judge(
        &self,
        txn: &Brief,
        request: &LeaseRequest,
        taken: &mut [Taken],
    ) -> Result<(), StoreError> {
        let ran_out: Vec<LaneLease> =
            taken.iter().filter(|taken| taken.abandoned).map(|taken| taken.lease).collect();
        let mut with_due = Vec::new();
        if request.counts_abandoned && !ran_out.is_empty() {
            with_due = txn.indices(&self.due, [json_lanes(&ran_out).into()]).await?;
        }
        for taken in taken {
            taken.abandoned = with_due.contains(&usize::from(taken.lease.lane.number()));
        }
        Ok(())
    }

    pub(crate) async fn mark_suspect(
        &self,
        db: &DatabaseConnection,
        lease: &LaneLease,
        record: Option<RecordRef>,
    ) -> Result<bool, StoreError> {
        let position = record.map(|record| record.position.0);
        let values = [
            position.into(),
            record.map(|record| record.id.uuid().as_bytes().to_vec()).into(),
            position.into(),
            i16::from(lease.lane.number()).into(),
            lease.token.uuid().as_bytes().to_vec().into(),
        ];
        repeated(|| async {
            let statement = statement(&self.mark, values.clone());
            let done = db.execute_raw(statement).await.map_err(failed("mark_suspect"))?;
            Ok(done.rows_affected() > 0)
        })
        .await
    }

    pub(crate) async fn renew(
        &self,
        db: &DatabaseConnection,
        asked: &[LaneLease],
        lease: LeaseTime,
    ) -> Result<Vec<LaneLease>, StoreError> {
        repeated(|| self.try_renew(db, asked, lease)).await
    }

    /// The driver counts rows that were found, not rows that changed: a renewal that sets the expiry
    /// to what it is changes none.
    async fn try_renew(
        &self,
        db: &DatabaseConnection,
        asked: &[LaneLease],
        lease: LeaseTime,
    ) -> Result<Vec<LaneLease>, StoreError> {
        let ordered = in_order(asked);
        let txn = Brief::begin(db, "renew").await?;
        // The clock of a statement stands still while it waits for a lock. A lease that ends meanwhile
        // is found by the next statement, which waits for none: it names no lane that is not locked.
        let locked = txn.indices(&self.held_alone, [json_leases(&ordered).into()]).await?;
        let locked = chosen(&ordered, &locked);
        let leases = || Value::from(json_leases(&locked));
        let values = [leases(), micros(lease.duration()).into()];
        let held = if txn.execute(&self.renew, values).await? == locked.len() as u64 {
            locked
        } else {
            // Those that were renewed are locked and live.
            chosen(&locked, &txn.indices(&self.held, [leases()]).await?)
        };
        txn.commit().await?;
        Ok(still_held(asked, &held))
    }

    pub(crate) async fn release(
        &self,
        db: &DatabaseConnection,
        leases: &[LaneLease],
    ) -> Result<(), StoreError> {
        let leases = json_leases(&in_order(leases));
        repeated(|| async {
            let statement = statement(&self.release, [leases.clone().into()]);
            db.execute_raw(statement).await.map(drop).map_err(failed("release"))
        })
        .await
    }

    pub(crate) async fn acquired(
        &self,
        db: &DatabaseConnection,
        leases: &[LaneLease],
    ) -> Result<Vec<LaneState>, StoreError> {
        let lanes = leases.iter().map(|lease| Value::from(i16::from(lease.lane.number())));
        let thrice = lanes.clone().chain(lanes.clone()).chain(lanes);
        let statement = statement(&acquired(&self.names, self.clock, leases.len()), thrice);
        let rows = db.query_all_raw(statement).await.map_err(failed("acquired"))?;
        states(leases, lane_rows(&rows)?)
    }
}

/// What a lane becomes that is leased.
struct Taken {
    lease: LaneLease,
    /// Whether a worker may have died of it.
    abandoned: bool,
    /// Whether that worker had marked a suspect.
    marked: bool,
}

/// Fresh leases of the lanes in these rows, each once and in their order.
fn taken(rows: &[QueryResult]) -> Result<Vec<Taken>, StoreError> {
    let fresh = |row: &QueryResult| {
        let lane: i16 = row.try_get_by_index(0).map_err(failed("lease"))?;
        let abandoned: i64 = row.try_get_by_index(1).map_err(failed("lease"))?;
        let marked: i64 = row.try_get_by_index(2).map_err(failed("lease"))?;
        let token = LeaseToken::from_uuid(Uuid::new_v4())?;
        let lease = LaneLease { lane: Lane::try_from(lane)?, token };
        Ok(Taken { lease, abandoned: abandoned != 0, marked: marked != 0 })
    };
    let mut taken = rows.iter().map(fresh).collect::<Result<Vec<Taken>, StoreError>>()?;
    taken.sort_by_key(|taken| taken.lease.lane);
    taken.dedup_by_key(|taken| taken.lease.lane);
    Ok(taken)
}

fn json_taken(lanes: &[Taken]) -> String {
    json_list(lanes, |text, Taken { lease: LaneLease { lane, token }, abandoned, marked }| {
        let (token, deaths) = (hex(token.uuid()), i32::from(*abandoned && *marked));
        let abandoned = i32::from(*abandoned);
        _ = write!(text, "[{lane},\"{token}\",{abandoned},{deaths}]");
    })
}

fn in_order(leases: &[LaneLease]) -> Vec<LaneLease> {
    let mut ordered = leases.to_vec();
    ordered.sort_by_key(|lease| lease.lane);
    ordered
}

/// What is told of a lane that can be leased, to this owner.
///
/// While the suspect has an id, it is marked under the lease that ends here.
const FOUND: &str = "l.lane, l.token IS NOT NULL AND NOT (l.owner <=> ?), l.suspect_id IS NOT NULL";

/// A lane whose token is null was given back, and free since then; one that was never leased has
/// no expiry and is free for ever.
///
/// Rows that another transaction has locked are skipped: whoever locks a lane is about to take it,
/// to renew it or to settle in it.
fn free(names: &TableNames, clock: Now) -> String {
    let now = clock.mysql();
    let lane = names.quoted("lane", '`');
    format!(
        "SELECT {FOUND} FROM {lane} AS l FORCE INDEX (PRIMARY)
WHERE (l.token IS NULL OR l.expires_at IS NULL OR l.expires_at <= {now})
    AND ? >> l.lane & 1 = 0
ORDER BY l.lane LIMIT ? FOR UPDATE SKIP LOCKED"
    )
}

fn orphans(names: &TableNames, clock: Now) -> String {
    let now = clock.mysql();
    let lane = names.quoted("lane", '`');
    format!(
        "SELECT {FOUND} FROM {lane} AS l FORCE INDEX (PRIMARY)
WHERE l.expires_at IS NULL OR l.expires_at < {now} - INTERVAL ? MICROSECOND
ORDER BY l.lane FOR UPDATE SKIP LOCKED"
    )
}

/// Which of the lanes `?` have a record that is due. It locks none: nothing depends on it but a count.
fn due(names: &TableNames, clock: Now) -> String {
    let now = clock.mysql();
    let message = names.quoted("message", '`');
    let due = names.identifier("message_due").replace('`', "``");
    format!(
        "SELECT CAST(k.lane AS SIGNED)
FROM JSON_TABLE(?, '$[*]' COLUMNS (lane SMALLINT PATH '$')) AS k
WHERE EXISTS (
    SELECT 1 FROM {message} AS m FORCE INDEX (`{due}`)
    WHERE m.lane = k.lane AND m.available_at <= {now}
) OR EXISTS (
    SELECT 1 FROM {message} AS m FORCE INDEX (`{due}`)
    WHERE m.lane = k.lane AND m.available_at IS NULL
)"
    )
}

/// The leases at these places.
fn chosen(leases: &[LaneLease], places: &[usize]) -> Vec<LaneLease> {
    places.iter().filter_map(|at| leases.get(*at)).copied().collect()
}

/// Marks the suspect, or takes the mark from it: its id goes, place and deaths stay. The deaths come
/// first, because assignments see those before them.
fn mark(names: &TableNames, clock: Now) -> String {
    let now = clock.mysql();
    let lane = names.quoted("lane", '`');
    format!(
        "UPDATE {lane} AS l
SET l.suspect_deaths =
        IF(COALESCE(?, l.suspect_position) = l.suspect_position, l.suspect_deaths, 0),
    l.suspect_id = ?, l.suspect_position = COALESCE(?, l.suspect_position)
WHERE l.lane = ? AND l.token = ? AND l.expires_at > {now}"
    )
}

/// Whether a lane was abandoned was told before: assignments may see each other's values.
fn take(names: &TableNames, clock: Now) -> String {
    let now = clock.mysql();
    let lane = names.quoted("lane", '`');
    format!(
        "UPDATE JSON_TABLE(?, '$[*]' COLUMNS (
    lane SMALLINT PATH '$[0]', token CHAR(32) PATH '$[1]', abandoned INT PATH '$[2]',
    deaths INT PATH '$[3]'
)) AS k STRAIGHT_JOIN {lane} AS l FORCE INDEX (PRIMARY) ON l.lane = k.lane
SET l.token = UNHEX(k.token), l.owner = ?,
    l.expires_at = {now} + INTERVAL ? MICROSECOND,
    l.abandoned = l.abandoned + k.abandoned,
    l.suspect_deaths = l.suspect_deaths + k.deaths, l.suspect_id = NULL"
    )
}

/// The fence: locks the lanes of the leases `?` in their order, and answers which of them are live,
/// and of each whether workers died with it.
///
/// Of a lane whose holder rolled back, the expiry is judged by the instant at which the lock was
/// asked for. That is harmless for a settlement: nobody can lease the lane while it is locked, and
/// a claim of a record that came before it is seen by the statements that follow.
pub(in crate::statement) fn held(names: &TableNames, clock: Now, lock: &str) -> String {
    let now = clock.mysql();
    let (lane, leases) = (names.quoted("lane", '`'), LEASES);
    format!(
        "SELECT CAST(k.nth AS SIGNED) - 1,
    l.abandoned > 0 OR l.suspect_position IS NOT NULL
FROM {leases}
STRAIGHT_JOIN {lane} AS l FORCE INDEX (PRIMARY) ON l.lane = k.lane AND l.token = UNHEX(k.token)
WHERE l.expires_at > {now} {lock}"
    )
}

pub(in crate::statement) const LEASES: &str = "JSON_TABLE(?, '$[*]' COLUMNS (
    nth FOR ORDINALITY, lane SMALLINT PATH '$[0]', token CHAR(32) PATH '$[1]'
)) AS k";

/// Locks the lanes in their order, as the fence does.
fn renew(names: &TableNames, clock: Now) -> String {
    let now = clock.mysql();
    let (lane, leases) = (names.quoted("lane", '`'), LEASES);
    format!(
        "UPDATE {leases}
STRAIGHT_JOIN {lane} AS l FORCE INDEX (PRIMARY) ON l.lane = k.lane AND l.token = UNHEX(k.token)
SET l.expires_at = GREATEST(l.expires_at, {now} + INTERVAL ? MICROSECOND)
WHERE l.expires_at > {now}"
    )
}

/// Leaves the instant of the release as the expiry, so that a lane's free time can be told.
fn release(names: &TableNames, clock: Now) -> String {
    let now = clock.mysql();
    let (lane, leases) = (names.quoted("lane", '`'), LEASES);
    format!(
        "UPDATE {leases}
STRAIGHT_JOIN {lane} AS l FORCE INDEX (PRIMARY) ON l.lane = k.lane AND l.token = UNHEX(k.token)
SET l.token = NULL, l.owner = NULL, l.expires_at = {now}
WHERE l.expires_at > {now}"
    )
}

/// All failed records of ordered keys, the parked keys, and what workers died with, of so many lanes.
fn acquired(names: &TableNames, clock: Now, lanes: usize) -> String {
    let now = clock.mysql();
    let [message, parked_key, lane] =
        ["message", "parked_key", "lane"].map(|table| names.quoted(table, '`'));
    let failed = names.identifier("message_failed").replace('`', "``");
    let lanes = vec!["?"; lanes].join(", ");
    format!(
        "SELECT m.lane, m.topic, m.ordering_key, m.position,
    TIMESTAMPDIFF(MICROSECOND, {now}, m.available_at), NULL, NULL, NULL, NULL
FROM {message} AS m FORCE INDEX (`{failed}`)
WHERE m.failed_lane IN ({lanes}) AND m.available_at IS NOT NULL
UNION ALL
SELECT k.lane, k.topic, k.ordering_key, k.dead_position, NULL, k.dead_id, k.dead_lane, NULL, NULL
FROM {parked_key} AS k WHERE k.lane IN ({lanes})
UNION ALL
SELECT l.lane, NULL, NULL, l.suspect_position, NULL, NULL, NULL, l.abandoned, l.suspect_deaths
FROM {lane} AS l
WHERE l.lane IN ({lanes}) AND (l.abandoned > 0 OR l.suspect_position IS NOT NULL)
ORDER BY 1, 4"
    )
}
