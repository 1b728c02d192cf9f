//! Writing how attempts ended on PostgreSQL, one statement and so one transaction for each part.

use std::time::Duration;

use outbox_core::{Outcome, Settled, StoreError, TableNames};
use sea_orm::sqlx::Row;
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, QueryResult, Statement, Value};
use uuid::Uuid;

use super::kind::{Ending, delay, note, reason};
use super::part::Part;
use super::{Write, Written};
use crate::mapping::{columns, failed, unreadable};
use crate::statement::claim::unclaimed;
use crate::statement::clock::{Now, micros};
use crate::statement::lane::postgres::held;

/// The statements that settle in one outbox.
#[derive(Debug)]
pub(crate) struct Settle {
    published: String,
    any: String,
}

impl Settle {
    pub(crate) fn new(names: &TableNames, clock: Now) -> Self {
        Self { published: published(names, clock), any: any(names, clock) }
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
        let mut values = claims(part);
        let text = if part.is_published() {
            &self.statements.published
        } else {
            values.extend(details(part));
            &self.statements.any
        };
        let statement = Statement::from_sql_and_values(DbBackend::Postgres, text, values);
        let rows = self.db.query_all_raw(statement).await.map_err(failed("settle"))?;
        rows.first().and_then(written).ok_or_else(|| unreadable("settle"))
    }
}

/// The lock is shared with other settlements of the lane and keeps out whoever would lease, renew or
/// release it, or claim a record of it. Locked row by row beside the records, a lane could expire
/// between two of them and be settled by halves.
fn fence(names: &TableNames, clock: Now) -> String {
    held(names, clock, "FOR SHARE")
}

/// Forgets what workers died with in lanes where an attempt is settled: those of `done`.
///
/// It writes nothing to any other lane. The lanes are locked already, and only their one owner gets
/// that far, who settles in a lane by one call at a time.
fn cleared(names: &TableNames) -> String {
    let lane = names.quoted("lane", '"');
    format!(
        "cleared AS (
    UPDATE {lane} l SET abandoned = 0, suspect_id = NULL, suspect_position = NULL,
        suspect_deaths = 0
    FROM held h WHERE h.lossy AND l.lane = h.lane AND h.lane IN (SELECT lane FROM done)
)"
    )
}

/// What an outcome and its record must agree in.
const SAME: &str =
    "m.lane = a.lane AND m.position = a.position AND m.id = a.id AND m.revision = a.revision";

/// The claims are joined with their lanes first: lane and position out of two relations, and a plan
/// made while the table is empty may search the index by position alone, from end to end for each.
fn published(names: &TableNames, clock: Now) -> String {
    let message = names.quoted("message", '"');
    let (held, cleared) = (fence(names, clock), cleared(names));
    let unclaimed = unclaimed(names, '"', "h.lane", "u.position");
    format!(
        "WITH {held}, asked AS MATERIALIZED (
    SELECT h.lane, u.position, u.id, u.revision, u.nth FROM held h
    JOIN unnest($3::smallint[], $4::bigint[], $5::uuid[], $6::integer[])
        WITH ORDINALITY AS u (lease, position, id, revision, nth)
        ON u.lease = h.lease
    WHERE {unclaimed}
), done AS (
    DELETE FROM {message} m USING asked a WHERE {SAME} RETURNING a.nth, a.lane
), {cleared}
SELECT (SELECT array_agg(lease) FROM held), (SELECT array_agg(nth) FROM done),
    pg_current_xact_id()::text::bigint"
    )
}

/// All kinds of outcomes at once, told apart by the number of their [`Ending`].
fn any(names: &TableNames, clock: Now) -> String {
    let now = clock.postgres();
    let [message, parked] = ["message", "parked"].map(|table| names.quoted(table, '"'));
    let (held, dead) = (fence(names, clock), dead(names, clock));
    let (behind, cleared) = (behind(names), cleared(names));
    let unclaimed = unclaimed(names, '"', "h.lane", "u.position");
    let (columns, from_park) = (columns::moved(), columns::moved_from("p", &[]));
    let moved = columns::moved_from("m", &[]);
    let failing = failing(&message, &now);
    format!(
        "WITH {held}, asked AS MATERIALIZED (
    SELECT h.lane, u.* FROM held h
    JOIN unnest($3::smallint[], $4::bigint[], $5::uuid[], $6::integer[],
            $7::smallint[], $8::bigint[], $9::text[], $10::text[])
        WITH ORDINALITY AS u (lease, position, id, revision, ending, delay, note, reason, nth)
        ON u.lease = h.lease
    WHERE {unclaimed}
), published AS (
    DELETE FROM {message} m USING asked a WHERE a.ending = 0 AND {SAME} RETURNING a.nth, a.lane
), failed AS ({failing}), {dead}, {behind}, parking AS (
    DELETE FROM {message} m USING asked a, behind b
    WHERE a.ending = 4 AND a.nth = b.nth AND {SAME} AND (b.topic, b.ordering_key) IN (
        SELECT topic, ordering_key FROM closed UNION ALL SELECT topic, ordering_key FROM closing
    )
    RETURNING {moved}, a.nth
), parked AS (
    INSERT INTO {parked} ({columns}, parked_at)
    SELECT {from_park}, {now} FROM parking p
), done AS (
    SELECT nth, lane FROM published UNION ALL SELECT nth, lane FROM failed
    UNION ALL SELECT nth, lane FROM dying
), {cleared}
SELECT (SELECT array_agg(lease) FROM held), (SELECT array_agg(nth) FROM (
        SELECT nth FROM done UNION ALL SELECT nth FROM parking
    ) applied), pg_current_xact_id()::text::bigint"
    )
}

fn failing(message: &str, now: &str) -> String {
    format!(
        "
    UPDATE {message} m SET attempts = m.attempts + 1, revision = m.revision + 1,
        available_at = {now} + a.delay * interval '1 microsecond',
        first_failed_at = coalesce(m.first_failed_at, {now}),
        last_error = a.note
    FROM asked a WHERE a.ending = 1 AND {SAME} RETURNING a.nth, a.lane
"
    )
}

/// Moves dead records out and closes their keys. A key that is closed already stays as it is.
///
/// What killed the record counts as a failure of it, unless it could not even be tried.
fn dead(names: &TableNames, clock: Now) -> String {
    let now = clock.postgres();
    let [message, dead_letter, parked_key] =
        ["message", "dead_letter", "parked_key"].map(|table| names.quoted(table, '"'));
    let columns = columns::moved();
    let (moved, dead) = (
        columns::moved_from("m", &[]),
        columns::moved_from(
            "d",
            &[
                ("attempts", "d.attempts + d.tried".to_owned()),
                ("first_failed_at", format!("coalesce(d.first_failed_at, {now})")),
                ("last_error", "d.note".to_owned()),
            ],
        ),
    );
    format!(
        "dying AS (
    DELETE FROM {message} m USING asked a WHERE a.ending IN (2, 3) AND {SAME}
    RETURNING {moved}, a.nth, a.ending, a.note, a.reason,
        CASE WHEN a.reason = 'undecodable' THEN 0 ELSE 1 END AS tried
), dead AS (
    INSERT INTO {dead_letter} ({columns}, reason, died_at)
    SELECT {dead}, d.reason, {now} FROM dying d
), closing AS (
    INSERT INTO {parked_key}
        (topic, ordering_key, dead_id, dead_lane, dead_position, lane, parked_at)
    SELECT DISTINCT ON (d.topic, d.ordering_key)
        d.topic, d.ordering_key, d.id, d.lane, d.position, d.lane, {now}
    FROM dying d WHERE d.ending = 3 AND d.ordering_key IS NOT NULL
    ORDER BY d.topic, d.ordering_key, d.position
    ON CONFLICT (topic, ordering_key) DO NOTHING
    RETURNING topic, ordering_key
)"
    )
}

/// Records that are to be parked, and which of their keys are closed.
///
/// The key's row is locked, so that an operator who frees the key either sees the record parked or
/// keeps it from being parked.
fn behind(names: &TableNames) -> String {
    let [message, parked_key] = ["message", "parked_key"].map(|table| names.quoted(table, '"'));
    format!(
        "behind AS MATERIALIZED (
    SELECT a.nth, m.topic, m.ordering_key FROM {message} m
    JOIN asked a ON {SAME} WHERE a.ending = 4
), closed AS MATERIALIZED (
    SELECT k.topic, k.ordering_key FROM {parked_key} k
    WHERE (k.topic, k.ordering_key) IN (SELECT topic, ordering_key FROM behind)
    ORDER BY k.topic, k.ordering_key FOR SHARE OF k
)"
    )
}

/// The leases, and of each outcome its lease and what it must find.
fn claims(part: &Part<'_>) -> Vec<Value> {
    let (lanes, tokens): (Vec<i16>, Vec<Uuid>) = part
        .leases()
        .iter()
        .map(|lease| (i16::from(lease.lane.number()), lease.token.uuid()))
        .unzip();
    let count = part.outcomes().len();
    let mut positions = Vec::with_capacity(count);
    let mut ids = Vec::with_capacity(count);
    let mut revisions = Vec::with_capacity(count);
    for outcome in part.outcomes() {
        positions.push(outcome.record.position.0);
        ids.push(outcome.record.id.uuid());
        revisions.push(outcome.revision);
    }
    // Ordinality counts from one.
    let of_lease: Vec<i16> =
        part.of_lease().iter().map(|at| i16::try_from(at + 1).unwrap_or(i16::MAX)).collect();
    vec![
        lanes.into(),
        tokens.into(),
        of_lease.into(),
        positions.into(),
        ids.into(),
        revisions.into(),
    ]
}

/// What the statement for all kinds needs beyond that.
fn details(part: &Part<'_>) -> [Value; 4] {
    let kinds = || part.outcomes().iter().map(|outcome| &outcome.kind);
    let endings: Vec<i16> = kinds().map(|kind| Ending::of(kind) as i16).collect();
    let delays: Vec<i64> = kinds().map(delay).map(|delay: Duration| micros(delay)).collect();
    let notes: Vec<String> = kinds().map(note).collect();
    let reasons: Vec<String> = kinds().map(|kind| reason(kind).to_owned()).collect();
    [endings.into(), delays.into(), notes.into(), reasons.into()]
}

fn written(row: &QueryResult) -> Option<Written> {
    let row = row.try_as_pg_row()?;
    let indices = |at: usize| {
        let ordinals: Option<Vec<i64>> = row.try_get(at).ok()?;
        let index = |ordinal: i64| usize::try_from(ordinal - 1).ok();
        ordinals.unwrap_or_default().into_iter().map(index).collect::<Option<Vec<usize>>>()
    };
    let stamp: i64 = row.try_get(2).ok()?;
    Some(Written {
        held: indices(0)?,
        applied: indices(1)?,
        stamp: Some(u64::try_from(stamp).ok()?),
    })
}
