//! Reading due records on PostgreSQL, all lanes in one statement.

mod past;

use std::sync::Arc;

use outbox_core::{
    Batch, DuePlace, Format, Lane, LaneRead, Position, ReadMark, ReadRequest, StoreError,
    TableNames,
};
use sea_orm::sqlx::Row;
use sea_orm::sqlx::postgres::PgRow;
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, QueryResult, Statement, Value};

use super::{LOOKED_AT, Turns, Without, due_behind, due_look, due_place, first_look};
use crate::mapping::columns::{self, RECORD, STAGED};
use crate::mapping::{Decoder, failed, unreadable};
use crate::statement::clock::Now;

/// The statement that reads from one outbox.
#[derive(Debug)]
pub(crate) struct Read {
    text: String,
    /// With records that are withheld.
    withholding: String,
    turns: Arc<Turns>,
}

impl Read {
    pub(crate) fn new(names: &TableNames, clock: Now, turns: Arc<Turns>) -> Self {
        let [text, withholding] = [false, true].map(|withholds| read(names, clock, withholds));
        Self { text, withholding, turns }
    }

    pub(crate) async fn read(
        &self,
        db: &DatabaseConnection,
        request: &ReadRequest,
    ) -> Result<Batch, StoreError> {
        let order = self.turns.order(request);
        let mut values = values(request, &order).to_vec();
        let mut text = &self.text;
        if !request.without.is_empty() {
            text = &self.withholding;
            values.extend(withheld(request, &order));
        }
        let statement = Statement::from_sql_and_values(DbBackend::Postgres, text, values);
        let rows = db.query_all_raw(statement).await.map_err(failed("read"))?;
        batch(rows).ok_or_else(|| unreadable("read"))
    }
}

fn values(request: &ReadRequest, order: &[LaneRead]) -> [Value; 7] {
    let (lanes, floors): (Vec<i16>, Vec<i64>) =
        order.iter().map(|read| (i16::from(read.lane.number()), read.floor.0)).unzip();
    let known: Vec<i64> = request.known.iter().map(|position| position.0).collect();
    [
        lanes.into(),
        floors.into(),
        known.into(),
        i64::from(request.records.get()).into(),
        i64::try_from(request.bytes).unwrap_or(i64::MAX).into(),
        Format::CURRENT.0.into(),
        i64::from(first_look(request)).into(),
    ]
}

fn withheld(request: &ReadRequest, order: &[LaneRead]) -> [Value; 7] {
    let Without { destinations, keys, ordered } = Without::of(request);
    let (due_at, behind): (Vec<i64>, Vec<i64>) = order.iter().map(due_behind).unzip();
    let due = i64::from(due_look(request));
    let (looked_at, due_at, behind) = (LOOKED_AT.into(), due_at.into(), behind.into());
    [destinations.into(), keys.into(), looked_at, due_at, behind, due.into(), ordered.into()]
}

/// Index of the first column that belongs to a record; those before it are about the read.
const FIRST: usize = 3;

fn batch(mut rows: Vec<QueryResult>) -> Option<Batch> {
    let about = rows.first()?.try_as_pg_row()?;
    let horizon: i64 = about.try_get(0).ok()?;
    let looked_at: Option<String> = about.try_get(1).ok()?;
    let seen: Option<i64> = about.try_get(2).ok()?;
    let mark = ReadMark::Horizon(u64::try_from(horizon).ok()?);
    let mut batch = Batch {
        records: vec![],
        undecodable: vec![],
        truncated: false,
        mark,
        reached: vec![],
        due_reached: vec![],
    };
    // Without records, the one row is there for the horizon.
    if let Some(seen) = seen {
        rows.sort_by_cached_key(|row| row.try_as_pg_row().map(place));
        batch.truncated = usize::try_from(seen).ok()? > rows.len();
        let mut decoder = Decoder::for_rows(rows.len());
        // Each row goes as soon as it is copied, or all of them would be in memory twice.
        for row in rows {
            decoder.add(row.try_as_pg_row()?, FIRST);
        }
        (batch.records, batch.undecodable) = (decoder.records, decoder.undecodable);
    }
    if let Some(looked_at) = looked_at {
        add_reached(&mut batch, &looked_at)?;
    }
    Some(batch)
}

/// Of a lane that was looked at: how many records were found, how far that went, and where it ended
/// among those that waited, unless that was their end.
type LookedAt = (u8, usize, i64, Option<i64>, Option<i64>);

/// Tells of lanes of which the budget left nothing out.
fn add_reached(batch: &mut Batch, looked_at: &str) -> Option<()> {
    let mut read = [0; Lane::COUNT as usize];
    let lanes = batch.records.iter().map(|record| record.reference.lane);
    for lane in lanes.chain(batch.undecodable.iter().map(|row| row.reference.lane)) {
        read[usize::from(lane.number())] += 1;
    }
    for (number, found, at, due_at, due) in serde_json::from_str::<Vec<LookedAt>>(looked_at).ok()? {
        if read.get(usize::from(number)) != Some(&found) {
            continue;
        }
        let lane = Lane::try_from(i16::from(number)).ok()?;
        batch.reached.push((lane, Position(at)));
        let due = match due_at.zip(due) {
            Some((due_at, due)) => due_place(due_at, due)?,
            None => DuePlace::END,
        };
        batch.due_reached.push((lane, due));
    }
    Some(())
}

/// Where a row stands in the answer. Sorted in the statement, the rows would be copied once more.
fn place(row: &PgRow) -> (bool, Option<i16>, Option<i64>) {
    let waited =
        row.try_get_unchecked::<Option<i64>, _>(FIRST + STAGED).is_ok_and(|at| at.is_some());
    (!waited, row.try_get(FIRST).ok(), row.try_get(FIRST + 1).ok())
}

/// `$1` lanes, `$2` floors, `$3` known positions, `$4` rows, `$5` bytes, `$6` newest format, `$7`
/// rows of each lane that are looked at first.
///
/// What is taken is chosen by place and size alone, so that no payload is touched that is not sent.
/// Looking at as many rows of each lane as the budget allows for all would still visit many times
/// what is taken. So each lane is looked at for its share; only if that leaves room, the lanes that
/// have more are looked at again, behind what was found. The last row of that second look tells
/// whether there are still more, and is never taken.
///
/// The horizon comes from the snapshot that the records come from, and comes also without records.
///
/// With records that are withheld it is a text of its own: `$8` destinations, `$9` keys, `$10` rows of
/// each lane that are looked at in search of others, `$11` and `$12` the places behind which each lane
/// is looked at among those that waited, in microseconds and by position, `$13` how many of these, `$14`
/// topics whose ordered records are withheld.
fn read(names: &TableNames, clock: Now, withholds: bool) -> String {
    let still = clock.postgres_still();
    let message = names.quoted("message", '"');
    let looks = if withholds { past::looks(names, clock) } else { looks(names, clock) };
    let (record, columns) = (columns::list("m", &RECORD), columns::list("t", &RECORD));
    let looked_at = if withholds { past::looked_at(names) } else { "NULL::text".to_owned() };
    format!(
        "WITH {looks}, {COUNTED}
SELECT s.horizon, s.looked_at, t.seen, {columns}, CASE WHEN isfinite(t.first_failed_at)
        THEN (extract(epoch FROM {still} - t.first_failed_at) * 1000000)::bigint END
FROM (
    SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS horizon,
        {looked_at} AS looked_at
) s
LEFT JOIN (
    SELECT (SELECT count(*) FROM first) + (SELECT count(*) FROM second) AS seen, r.*
    FROM counted k CROSS JOIN LATERAL (
        -- Fenced in: joined freely, a plan made while the table is empty may scan it whole.
        SELECT {record} FROM {message} m WHERE m.ctid = k.at OFFSET 0
    ) r
    WHERE k.place <= $4 AND (k.bytes <= $5 OR k.place = 1)
        AND k.rank <= $7 + (SELECT more FROM room)
) t ON true"
    )
}

/// The two looks: where records are, how large, and which of their lane they are.
fn looks(names: &TableNames, clock: Now) -> String {
    let first = look(names, clock, "a", "", "$7");
    let behind = "AND (m.available_at, m.position) > (f.due_at, f.due)";
    let second = look(names, clock, "f", behind, "(SELECT more + 1 FROM room)");
    format!(
        "first AS MATERIALIZED (
    SELECT * FROM (
        SELECT a.turn, a.lane, a.floor, r.*,
            row_number() OVER (PARTITION BY a.turn ORDER BY r.available_at, r.position) AS rank
        FROM unnest($1::smallint[], $2::bigint[]) WITH ORDINALITY AS a (lane, floor, turn)
        CROSS JOIN LATERAL ({first}) r
    ) ranked WHERE rank <= $7
), {ROOM}, second AS MATERIALIZED (
    SELECT f.turn, r.*,
        row_number() OVER (PARTITION BY f.turn ORDER BY r.available_at, r.position) + $7 AS rank
    FROM full_lane f CROSS JOIN LATERAL ({second}) r
    WHERE (SELECT count(*) FROM first) <= $4
)"
    )
}

/// What the first look leaves to the second one.
const ROOM: &str = "full_lane AS MATERIALIZED (
    -- Lanes that may have more, and where the first look ended.
    SELECT turn, lane, max(available_at) AS due_at,
        (array_agg(position ORDER BY available_at DESC, position DESC)
            FILTER (WHERE available_at IS NOT NULL))[1] AS due,
        greatest(floor, max(position) FILTER (WHERE available_at IS NULL)) AS floor
    FROM first GROUP BY turn, lane, floor HAVING count(*) = $7
), room AS MATERIALIZED (
    -- Twice an even share of what is left, because some lanes end before their share does.
    SELECT greatest(
        0, (2 * ($4 - (SELECT count(*) FROM first)) + count(*) - 1) / greatest(1, count(*))
    ) AS more FROM full_lane
)";

/// What was seen in the order in which the budget is spent, with what it has cost so far.
const COUNTED: &str = "counted AS (
    SELECT c.*, row_number() OVER served AS place, sum(c.size) OVER served AS bytes
    FROM (
        SELECT turn, rank, at, size FROM first UNION ALL SELECT turn, rank, at, size FROM second
    ) c
    WINDOW served AS (ORDER BY c.rank, c.turn ROWS UNBOUNDED PRECEDING)
)";

/// Where a lane's due records are: those that waited, longest due first and those of one instant by
/// position, then those beyond the
/// floor that never did. `of` names what has the lane and its floor.
///
/// What is due is judged by `statement_timestamp()`, which stands still and which the partial index
/// can be searched by. The known positions are a subselect because that is hashed, whatever the plan;
/// an array is searched from end to end for each row by a plan that is kept. That a record never
/// waited is asked by `CASE`, whose guess is half of the rows: while nothing is known of a table that
/// filled at once, `IS NULL` is guessed to be one row of a lane, and the whole lane would be fetched
/// and sorted for it. A row's `ctid` names the very version that this snapshot sees.
fn look(names: &TableNames, clock: Now, of: &str, behind: &str, limit: &str) -> String {
    let still = clock.postgres_still();
    let message = names.quoted("message", '"');
    let wanted = format!("m.lane = {of}.lane AND {READABLE}");
    format!(
        "(
            SELECT m.ctid AS at, m.position, m.available_at, m.size FROM {message} m
            WHERE {wanted} AND m.available_at <= {still} {behind}
            ORDER BY m.available_at, m.position LIMIT {limit}
        ) UNION ALL (
            SELECT m.ctid, m.position, NULL, m.size FROM {message} m
            WHERE {wanted} AND CASE WHEN m.available_at IS NULL THEN true ELSE false END
                AND m.position > {of}.floor
            ORDER BY m.position LIMIT {limit}
        )"
    )
}

const READABLE: &str = "m.position NOT IN (SELECT unnest($3::bigint[])) AND m.format <= $6
                AND m.id <> '00000000-0000-0000-0000-000000000000'";
