//! Writing how attempts ended on MariaDB and MySQL, each part in one transaction.
//!
//! First the lanes are locked, then the records, both in their order; what follows goes by place
//! alone. A condition on the lane beside each record would not do: an update does not lock what such
//! a condition reads.

use std::fmt::Write as _;

use outbox_core::{LaneLease, Outcome, OutcomeKind, Settled, StoreError, TableNames};
use sea_orm::DatabaseConnection;

use super::kind::{Ending, delay, note, reason};
use super::part::Part;
use super::{Write, Written, fence};
use crate::mapping::columns;
use crate::statement::claim::unclaimed;
use crate::statement::clock::{Now, micros};
use crate::statement::json::{hex, json_leases, json_list};
use crate::statement::lane::mysql::{LEASES, held};
use crate::store::brief::{Brief, repeated};

/// How many outcomes without a text go into one statement: few enough for one TLS record.
const PLAIN: usize = 150;
/// How many bytes of outcomes with a text.
const BYTES: usize = 12_000;
/// Bytes of an outcome beside its text.
const DETAIL: usize = 90;

/// The statements that settle in one outbox.
#[derive(Debug)]
pub(crate) struct Settle {
    held: String,
    held_alone: String,
    found: String,
    publish: String,
    delete: String,
    fail: String,
    bury: String,
    close: String,
    behind: String,
    park: String,
    clear: String,
}

impl Settle {
    pub(crate) fn new(names: &TableNames, clock: Now) -> Self {
        Self {
            held: held(names, clock, "LOCK IN SHARE MODE"),
            held_alone: held(names, clock, "FOR UPDATE"),
            found: found(names),
            publish: publish(names),
            delete: delete(names),
            fail: fail(names, clock),
            bury: bury(names, clock),
            close: close(names, clock),
            behind: behind(names),
            park: park(names, clock),
            clear: clear(names),
        }
    }

    pub(crate) async fn settle(
        &self,
        db: &DatabaseConnection,
        outcomes: &[Outcome],
    ) -> Result<Settled, StoreError> {
        super::settle(&Writer { db, statements: self }, outcomes).await
    }
}

struct Writer<'a> {
    db: &'a DatabaseConnection,
    statements: &'a Settle,
}

impl Write for Writer<'_> {
    async fn write(&self, part: &Part<'_>) -> Result<Written, StoreError> {
        if part.is_published()
            && let Some(written) = repeated(|| self.publish(part)).await?
        {
            return Ok(written);
        }
        repeated(|| self.write_each(part)).await
    }
}

/// Outcomes with their index.
type Indexed<'o> = Vec<(usize, &'o Outcome)>;

impl Writer<'_> {
    /// Deletes all records of the part, or none: where one is missing, how many were deleted does
    /// not tell which.
    async fn publish(&self, part: &Part<'_>) -> Result<Option<Written>, StoreError> {
        let Fence { txn, held, lossy } = self.begin(part).await?;
        let fenced = fenced(part, &held);
        let mut deleted = 0;
        for some in fenced.chunks(PLAIN) {
            deleted += txn.execute(&self.statements.publish, [json_claims(some).into()]).await?;
        }
        if usize::try_from(deleted).is_ok_and(|deleted| deleted == fenced.len()) {
            let applied: Vec<usize> = fenced.into_iter().map(|(at, _)| at).collect();
            self.statements.clear(&txn, &part.attempted(&lossy, &applied)).await?;
            txn.commit().await?;
            return Ok(Some(Written { held, applied, stamp: None }));
        }
        txn.rollback().await?;
        Ok(None)
    }

    async fn write_each(&self, part: &Part<'_>) -> Result<Written, StoreError> {
        let Fence { txn, held, lossy } = self.begin(part).await?;
        let mut found = Vec::new();
        for some in fenced(part, &held).chunks(PLAIN) {
            found.extend(txn.indices(&self.statements.found, [json_claims(some).into()]).await?);
        }
        let applied = self.statements.apply(&txn, part, &found).await?;
        self.statements.clear(&txn, &part.attempted(&lossy, &applied)).await?;
        txn.commit().await?;
        Ok(Written { held, applied, stamp: None })
    }

    /// Begins with the lanes locked, and tells which of the leases are live.
    ///
    /// A lane that workers died with is about to be written. Its lock is taken whole from the start:
    /// made stronger later, it would wait for a renewal that waits for it.
    async fn begin(&self, part: &Part<'_>) -> Result<Fence, StoreError> {
        let fence = self.lock(&self.statements.held, part).await?;
        if fence.lossy.is_empty() {
            return Ok(fence);
        }
        fence.txn.rollback().await?;
        self.lock(&self.statements.held_alone, part).await
    }

    async fn lock(&self, text: &str, part: &Part<'_>) -> Result<Fence, StoreError> {
        let txn = Brief::begin(self.db, "settle").await?;
        let rows = txn.rows(text, [json_leases(part.leases()).into()]).await?;
        let (held, lossy) = fence(&rows)?;
        Ok(Fence { txn, held, lossy })
    }
}

/// The leases whose lanes are locked.
struct Fence {
    txn: Brief,
    held: Vec<usize>,
    /// Those of them with whose lanes workers died.
    lossy: Vec<usize>,
}

impl Settle {
    /// Applies the outcomes that found their record, which is locked.
    async fn apply(
        &self,
        txn: &Brief,
        part: &Part<'_>,
        found: &[usize],
    ) -> Result<Vec<usize>, StoreError> {
        let of = |endings: &[Ending]| -> Indexed<'_> {
            let outcome = |at: &usize| Some((*at, *part.outcomes().get(*at)?));
            let all = found.iter().filter_map(outcome);
            all.filter(|(_, outcome)| endings.contains(&Ending::of(&outcome.kind))).collect()
        };
        let published = of(&[Ending::Published]);
        let failed = of(&[Ending::Failed]);
        let dead = of(&[Ending::Dead, Ending::DeadHead]);
        let behind = of(&[Ending::Parked]);

        self.for_places(txn, &self.delete, &published).await?;
        for some in by_size(&failed) {
            txn.execute(&self.fail, [json_details(some).into()]).await?;
        }
        for some in by_size(&dead) {
            let details = json_details(some);
            txn.execute(&self.bury, [details.clone().into()]).await?;
            txn.execute(&self.close, [details.into()]).await?;
        }
        self.for_places(txn, &self.delete, &dead).await?;
        let parked = self.park(txn, behind).await?;
        let applied = [published, failed, dead, parked];
        Ok(applied.iter().flatten().map(|(at, _)| *at).collect())
    }

    /// Forgets what workers died with in these lanes, which are locked.
    async fn clear(&self, txn: &Brief, leases: &[LaneLease]) -> Result<(), StoreError> {
        if leases.is_empty() {
            return Ok(());
        }
        txn.execute(&self.clear, [json_leases(leases).into()]).await.map(drop)
    }

    async fn park<'o>(
        &self,
        txn: &Brief,
        mut behind: Indexed<'o>,
    ) -> Result<Indexed<'o>, StoreError> {
        let mut closed = Vec::new();
        for some in behind.chunks(PLAIN) {
            closed.extend(txn.indices(&self.behind, [json_claims(some).into()]).await?);
        }
        behind.retain(|(at, _)| closed.contains(at));
        self.for_places(txn, &self.park, &behind).await?;
        self.for_places(txn, &self.delete, &behind).await?;
        Ok(behind)
    }

    /// Runs a statement that takes nothing but places.
    async fn for_places(
        &self,
        txn: &Brief,
        text: &str,
        outcomes: &[(usize, &Outcome)],
    ) -> Result<(), StoreError> {
        for some in outcomes.chunks(PLAIN) {
            txn.execute(text, [json_claims(some).into()]).await?;
        }
        Ok(())
    }
}

/// Claims as a table: index, place, id and revision.
const CLAIMS: &str = "JSON_TABLE(?, '$[*]' COLUMNS (
    nth INT PATH '$[0]', lane SMALLINT PATH '$[1]', position BIGINT PATH '$[2]',
    id CHAR(32) PATH '$[3]', revision INT PATH '$[4]'
)) AS u";

/// Details as a table: place, delay, text, reason and whether the key is closed. The text would have
/// the character set of the database, which need not hold what ours does.
const DETAILS: &str = "JSON_TABLE(?, '$[*]' COLUMNS (
    lane SMALLINT PATH '$[0]', position BIGINT PATH '$[1]', delay BIGINT PATH '$[2]',
    note TEXT CHARACTER SET utf8mb4 PATH '$[3]', reason VARCHAR(64) PATH '$[4]', closes INT PATH '$[5]'
)) AS u";

/// The record at each place. The order of the tables and the key are fixed: each record is looked
/// up by itself, in the order of the list, and no other one is touched or locked.
fn at_place(names: &TableNames) -> String {
    let message = names.quoted("message", '`');
    format!(
        "STRAIGHT_JOIN {message} AS m FORCE INDEX (PRIMARY)
    ON m.lane = u.lane AND m.position = u.position"
    )
}

fn clear(names: &TableNames) -> String {
    let lane = names.quoted("lane", '`');
    format!(
        "UPDATE {LEASES} STRAIGHT_JOIN {lane} AS l FORCE INDEX (PRIMARY) ON l.lane = k.lane
SET l.abandoned = 0, l.suspect_id = NULL, l.suspect_position = NULL, l.suspect_deaths = 0"
    )
}

/// What a claim and its record must agree in beyond the place.
const SAME: &str = "m.id = UNHEX(u.id) AND m.revision = u.revision";

/// Locks the records that are as they were when the attempt began, and tells which these are.
fn found(names: &TableNames) -> String {
    let (at_place, unclaimed) = (at_place(names), unclaimed(names, '`', "u.lane", "u.position"));
    format!("SELECT u.nth FROM {CLAIMS} {at_place} AND {SAME} WHERE {unclaimed} FOR UPDATE")
}

fn publish(names: &TableNames) -> String {
    let (at_place, unclaimed) = (at_place(names), unclaimed(names, '`', "u.lane", "u.position"));
    format!("DELETE m FROM {CLAIMS} {at_place} AND {SAME} WHERE {unclaimed}")
}

fn delete(names: &TableNames) -> String {
    let at_place = at_place(names);
    format!("DELETE m FROM {CLAIMS} {at_place}")
}

fn fail(names: &TableNames, clock: Now) -> String {
    let now = clock.mysql();
    let at_place = at_place(names);
    format!(
        "UPDATE {DETAILS} {at_place}
SET m.attempts = m.attempts + 1, m.revision = m.revision + 1,
    m.available_at = {now} + INTERVAL u.delay MICROSECOND,
    m.first_failed_at = COALESCE(m.first_failed_at, {now}), m.last_error = u.note"
    )
}

/// What killed the record counts as a failure of it, unless it could not even be tried.
fn bury(names: &TableNames, clock: Now) -> String {
    let now = clock.mysql();
    let (dead_letter, at_place) = (names.quoted("dead_letter", '`'), at_place(names));
    let columns = columns::moved();
    let dead = columns::moved_from(
        "m",
        &[
            ("attempts", "m.attempts + (u.reason <> 'undecodable')".to_owned()),
            ("first_failed_at", format!("COALESCE(m.first_failed_at, {now})")),
            ("last_error", "u.note".to_owned()),
        ],
    );
    format!(
        "INSERT INTO {dead_letter} ({columns}, reason, died_at)
SELECT {dead}, u.reason, {now} FROM {DETAILS} {at_place}"
    )
}

/// A key that is closed already stays as it is.
fn close(names: &TableNames, clock: Now) -> String {
    let now = clock.mysql();
    let (parked_key, at_place) = (names.quoted("parked_key", '`'), at_place(names));
    format!(
        "INSERT INTO {parked_key}
    (topic, ordering_key, dead_id, dead_lane, dead_position, lane, parked_at)
SELECT m.topic, m.ordering_key, m.id, m.lane, m.position, m.lane, {now}
FROM {DETAILS} {at_place} WHERE u.closes = 1 AND m.ordering_key IS NOT NULL
ON DUPLICATE KEY UPDATE {parked_key}.lane = {parked_key}.lane"
    )
}

/// Which of the records have a closed key.
///
/// The key's row is locked, so that an operator who frees the key either sees the record parked or
/// keeps it from being parked.
fn behind(names: &TableNames) -> String {
    let (parked_key, at_place) = (names.quoted("parked_key", '`'), at_place(names));
    format!(
        "SELECT u.nth FROM {CLAIMS} {at_place}
STRAIGHT_JOIN {parked_key} AS k FORCE INDEX (PRIMARY)
    ON k.topic = m.topic AND k.ordering_key = m.ordering_key
LOCK IN SHARE MODE"
    )
}

fn park(names: &TableNames, clock: Now) -> String {
    let now = clock.mysql();
    let (parked, at_place) = (names.quoted("parked", '`'), at_place(names));
    let (columns, moved) = (columns::moved(), columns::moved_from("m", &[]));
    format!(
        "INSERT INTO {parked} ({columns}, parked_at)
SELECT {moved}, {now} FROM {CLAIMS} {at_place}"
    )
}

/// The outcomes whose lease is held.
fn fenced<'o>(part: &Part<'o>, held: &[usize]) -> Indexed<'o> {
    let outcomes = part.outcomes().iter().zip(part.of_lease()).enumerate();
    let fenced = outcomes.filter(|(_, (_, lease))| held.contains(lease));
    fenced.map(|(at, (outcome, _))| (at, *outcome)).collect()
}

/// Chunks of outcomes with their texts, at least one in each.
fn by_size<'a, 'o>(outcomes: &'a [(usize, &'o Outcome)]) -> Vec<&'a [(usize, &'o Outcome)]> {
    let mut chunks = Vec::new();
    let (mut rest, mut taken, mut bytes) = (outcomes, 0, 0);
    for (_, outcome) in outcomes {
        let more = DETAIL + note(&outcome.kind).len();
        if bytes + more > BYTES && taken > 0 {
            let (chunk, behind) = rest.split_at(taken);
            chunks.push(chunk);
            (rest, taken, bytes) = (behind, 0, 0);
        }
        (taken, bytes) = (taken + 1, bytes + more);
    }
    chunks.extend((!rest.is_empty()).then_some(rest));
    chunks
}

fn json_claims(outcomes: &[(usize, &Outcome)]) -> String {
    json_list(outcomes, |text, (at, outcome)| {
        let (record, revision) = (outcome.record, outcome.revision);
        let (lane, position, id) = (record.lane, record.position, hex(record.id.uuid()));
        _ = write!(text, "[{at},{lane},{position},\"{id}\",{revision}]");
    })
}

fn json_details(outcomes: &[(usize, &Outcome)]) -> String {
    json_list(outcomes, |text, (_, Outcome { record, kind, .. })| {
        let closes = matches!(kind, OutcomeKind::Dead { parks_key: true, .. });
        let (note, closes) = (serde_json::Value::from(note(kind)), i32::from(closes));
        let (lane, position) = (record.lane, record.position);
        let (delay, reason) = (micros(delay(kind)), reason(kind));
        _ = write!(text, "[{lane},{position},{delay},{note},\"{reason}\",{closes}]");
    })
}
