//! Leasing lanes on SQLite, each change in a transaction that is a writer from its begin.

use outbox_core::{
    LaneLease, LaneState, LeaseRequest, LeaseTime, RecordRef, StoreError, TableNames,
};
use sea_orm::{ConnectionTrait, DatabaseConnection};

use super::{bits, lane_rows, leases, states, still_held};
use crate::mapping::failed;
use crate::statement::clock::{LONGEST, Now, micros};
use crate::statement::json::{json_lanes, json_leases};
use crate::store::immediate::{Immediate, statement};

/// The statements about leases of one outbox.
#[derive(Debug)]
pub(crate) struct Lanes {
    lease: String,
    renew: String,
    release: String,
    acquired: String,
    mark: String,
    clock: Now,
}

impl Lanes {
    pub(crate) fn new(names: &TableNames, clock: Now) -> Self {
        Self {
            lease: lease(names),
            renew: renew(names),
            release: release(names),
            acquired: acquired(names, clock),
            mark: mark(names),
            clock,
        }
    }

    pub(crate) async fn lease(
        &self,
        db: &DatabaseConnection,
        request: &LeaseRequest,
    ) -> Result<Vec<LaneLease>, StoreError> {
        let txn = Immediate::begin(db, "lease", self.clock).await?;
        let values = [
            request.owner.uuid().as_bytes().to_vec().into(),
            txn.now.into(),
            micros(request.lease.duration()).into(),
            i64::from(request.lanes).into(),
            request.orphans.map(micros).into(),
            request.counts_abandoned.into(),
            bits(&request.except).into(),
        ];
        let mut leases = leases(&txn.rows(&self.lease, values).await?, "lease")?;
        txn.commit().await?;
        leases.sort_unstable_by_key(|lease| lease.lane);
        Ok(leases)
    }

    pub(crate) async fn renew(
        &self,
        db: &DatabaseConnection,
        asked: &[LaneLease],
        lease: LeaseTime,
    ) -> Result<Vec<LaneLease>, StoreError> {
        let txn = Immediate::begin(db, "renew", self.clock).await?;
        let values = [json_leases(asked).into(), txn.now.into(), micros(lease.duration()).into()];
        let held = leases(&txn.rows(&self.renew, values).await?, "renew")?;
        txn.commit().await?;
        Ok(still_held(asked, &held))
    }

    pub(crate) async fn release(
        &self,
        db: &DatabaseConnection,
        leases: &[LaneLease],
    ) -> Result<(), StoreError> {
        let txn = Immediate::begin(db, "release", self.clock).await?;
        txn.execute(&self.release, [json_leases(leases).into(), txn.now.into()]).await?;
        txn.commit().await
    }

    pub(crate) async fn acquired(
        &self,
        db: &DatabaseConnection,
        leases: &[LaneLease],
    ) -> Result<Vec<LaneState>, StoreError> {
        let statement = statement(&self.acquired, [json_lanes(leases).into()]);
        let rows = db.query_all_raw(statement).await.map_err(failed("acquired"))?;
        states(leases, lane_rows(&rows)?)
    }

    pub(crate) async fn mark_suspect(
        &self,
        db: &DatabaseConnection,
        lease: &LaneLease,
        record: Option<RecordRef>,
    ) -> Result<bool, StoreError> {
        let txn = Immediate::begin(db, "mark_suspect", self.clock).await?;
        let values = [
            i64::from(lease.lane.number()).into(),
            lease.token.uuid().as_bytes().to_vec().into(),
            txn.now.into(),
            record.map(|record| record.id.uuid().as_bytes().to_vec()).into(),
            record.map(|record| record.position.0).into(),
        ];
        let marked = txn.numbers(&self.mark, values).await?;
        txn.commit().await?;
        Ok(!marked.is_empty())
    }
}

/// The assignments see the row as it was before. `?4` lanes, and beyond them those that
/// are free for `?5`. A lane of the bits `?7` is taken only so.
///
/// An expired lease of another owner, in a lane with a record that is due: that worker may have died
/// of it. While the suspect has an id, it is marked under the lease that ends here.
fn lease(names: &TableNames) -> String {
    let (lane, message) = (names.quoted("lane", '"'), names.quoted("message", '"'));
    let died = format!(
        "CASE WHEN ?6 AND token IS NOT NULL AND owner IS NOT ?1 THEN EXISTS (
        SELECT 1 FROM {message} AS m WHERE m.lane = {lane}.lane AND m.available_at <= ?2
    ) OR EXISTS (
        SELECT 1 FROM {message} AS m WHERE m.lane = {lane}.lane AND m.available_at IS NULL
    ) ELSE 0 END"
    );
    format!(
        "UPDATE {lane} SET token = randomblob(16), owner = ?1, expires_at = ?2 + ?3,
    abandoned = abandoned + {died},
    suspect_deaths = suspect_deaths + CASE WHEN suspect_id IS NULL THEN 0 ELSE {died} END,
    suspect_id = NULL
WHERE lane IN (
    SELECT lane FROM {lane}
    WHERE (token IS NULL OR expires_at IS NULL OR expires_at <= ?2) AND ?7 >> lane & 1 = 0
    ORDER BY lane LIMIT ?4
) OR (?5 IS NOT NULL AND (expires_at IS NULL OR expires_at < ?2 - ?5))
RETURNING lane, token"
    )
}

fn renew(names: &TableNames) -> String {
    let (lane, held) = (names.quoted("lane", '"'), HELD);
    format!(
        "UPDATE {lane} AS l SET expires_at = max(expires_at, ?2 + ?3) WHERE {held}
RETURNING lane, token"
    )
}

fn release(names: &TableNames) -> String {
    let (lane, held) = (names.quoted("lane", '"'), HELD);
    format!("UPDATE {lane} AS l SET token = NULL, owner = NULL, expires_at = ?2 WHERE {held}")
}

/// Marks the suspect `?4` at `?5`, or takes the mark from it: its id goes, place and deaths stay.
fn mark(names: &TableNames) -> String {
    let lane = names.quoted("lane", '"');
    format!(
        "UPDATE {lane} SET suspect_id = ?4, suspect_position = coalesce(?5, suspect_position),
    suspect_deaths = CASE WHEN coalesce(?5, suspect_position) = suspect_position
        THEN suspect_deaths ELSE 0 END
WHERE lane = ?1 AND token = ?2 AND expires_at > ?3
RETURNING lane"
    )
}

/// Whether a lane is under one of the leases `?1`, live at `?2`.
const HELD: &str = "l.expires_at > ?2 AND EXISTS (
    SELECT 1 FROM json_each(?1) AS k
    WHERE json_extract(k.value, '$[0]') = l.lane AND json_extract(k.value, '$[1]') = hex(l.token)
)";

/// All failed records of ordered keys, the parked keys, and the lanes that workers died with.
///
/// What is no number is later than every instant, as comparisons have it.
fn acquired(names: &TableNames, clock: Now) -> String {
    let now = clock.sqlite();
    let failed = names.identifier("message_failed").replace('"', "\"\"");
    let [message, parked_key, lane] =
        ["message", "parked_key", "lane"].map(|table| names.quoted(table, '"'));
    format!(
        "SELECT lane, topic, ordering_key, position, CASE
        WHEN typeof(available_at) IN ('integer', 'real') THEN CAST(available_at - {now} AS INTEGER)
        ELSE {LONGEST}
    END, NULL, NULL, NULL, NULL
FROM {message} INDEXED BY \"{failed}\"
WHERE lane IN (SELECT value FROM json_each(?1)) AND available_at IS NOT NULL
    AND attempts > 0 AND ordering_key IS NOT NULL
UNION ALL
SELECT lane, topic, ordering_key, dead_position, NULL, dead_id, dead_lane, NULL, NULL
FROM {parked_key} WHERE lane IN (SELECT value FROM json_each(?1))
UNION ALL
SELECT lane, NULL, NULL, suspect_position, NULL, NULL, NULL, abandoned, suspect_deaths
FROM {lane} WHERE lane IN (SELECT value FROM json_each(?1))
    AND (abandoned > 0 OR suspect_position IS NOT NULL)
ORDER BY 1, 4"
    )
}
