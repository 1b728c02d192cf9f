//! Reading due records on SQLite: first which, then the records themselves, in one snapshot.
//!
//! Positions are committed in order, because there is one writer at a time.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use outbox_core::{
    Batch, DuePlace, Format, Lane, LaneRead, Position, ReadMark, ReadRequest, StoreError,
    TableNames,
};
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DatabaseTransaction, QueryResult, TransactionTrait, Value,
};

use super::budget::{Candidate, spend};
use super::{LOOKED_AT, Turns, Without, due_behind, due_look, due_place, first_look};
use crate::mapping::columns::{self, RECORD};
use crate::mapping::{Decoder, failed, unreadable};
use crate::statement::clock::Now;
use crate::statement::json::json_list;
use crate::store::immediate::{now, statement};

/// The statements that read from one outbox.
#[derive(Debug)]
pub(crate) struct Read {
    candidates: String,
    /// With records that are withheld.
    withholding: String,
    records: String,
    clock: Now,
    turns: Arc<Turns>,
}

impl Read {
    pub(crate) fn new(names: &TableNames, clock: Now, turns: Arc<Turns>) -> Self {
        Self {
            candidates: candidates(names),
            withholding: candidates_past(names),
            records: records(names),
            clock,
            turns,
        }
    }

    pub(crate) async fn read(
        &self,
        db: &DatabaseConnection,
        request: &ReadRequest,
    ) -> Result<Batch, StoreError> {
        let txn = db.begin().await.map_err(failed("read"))?;
        let look =
            Look { txn: &txn, read: self, request, now: now(&txn, "read", self.clock).await? };
        let lanes = self.turns.order(request);
        let found = look.at_lanes(&lanes).await?;
        let candidates: Vec<&[Candidate]> = found.iter().map(|lane| &*lane.candidates).collect();
        let chosen = spend(&candidates, request);
        let truncated = chosen.len() < candidates.iter().map(|lane| lane.len()).sum();

        let mut decoder = Decoder::for_rows(chosen.len());
        if !chosen.is_empty() {
            let values = [json_positions(&chosen).into(), look.now.into()];
            let rows = txn.query_all_raw(statement(&self.records, values)).await;
            for row in rows.map_err(failed("read"))? {
                decoder.add(row.try_as_sqlite_row().ok_or_else(|| unreadable("read"))?, 0);
            }
        }
        txn.commit().await.map_err(failed("read"))?;
        let Decoder { records, undecodable, .. } = decoder;
        let (reached, due_reached) = reached(&lanes, &found, &chosen);
        let mark = ReadMark::Ordered;
        Ok(Batch { records, undecodable, truncated, mark, reached, due_reached })
    }
}

/// How far lanes were looked at, and how far among what waited.
type Reached = (Vec<(Lane, Position)>, Vec<(Lane, DuePlace)>);

/// Lanes that were looked at up to somewhere, and of which the budget left nothing out.
fn reached(lanes: &[LaneRead], found: &[Found], chosen: &[Position]) -> Reached {
    let chosen: HashSet<&Position> = chosen.iter().collect();
    let whole = lanes.iter().zip(found).filter(|(_, found)| {
        found.candidates.iter().all(|candidate| chosen.contains(&candidate.position))
    });
    let told = whole.filter_map(|(read, found)| {
        let (reached, due_reached) = found.reached?;
        Some(((read.lane, reached), (read.lane, due_reached)))
    });
    told.unzip()
}

/// What one lane has.
#[derive(Debug)]
struct Found {
    candidates: Vec<Candidate>,
    /// How far the lane was looked at, also among those that waited, if all is among the candidates
    /// that is there so far.
    reached: Option<(Position, DuePlace)>,
}

/// Looks for records that are due, in one snapshot.
struct Look<'a> {
    txn: &'a DatabaseTransaction,
    read: &'a Read,
    request: &'a ReadRequest,
    now: i64,
}

impl Look<'_> {
    /// Candidates of each lane, among them all that the budget can take and one more.
    ///
    /// Looks at each lane for its share; only if that leaves room, the lanes that have more are
    /// looked at again.
    async fn at_lanes(&self, lanes: &[LaneRead]) -> Result<Vec<Found>, StoreError> {
        let share = first_look(self.request);
        let mut found = self.look(lanes, share).await?;
        let rows: usize = found.iter().map(|lane| lane.candidates.len()).sum();
        let most = usize::try_from(self.request.records.get()).unwrap_or(usize::MAX);
        let full = |lane: &Found| u32::try_from(lane.candidates.len()).is_ok_and(|n| n == share);
        let again: Vec<usize> = (0..found.len()).filter(|at| full(&found[*at])).collect();
        if rows > most || again.is_empty() {
            return Ok(found);
        }
        let lanes: Vec<LaneRead> = again.iter().filter_map(|at| lanes.get(*at)).copied().collect();
        let more = self.look(&lanes, self.request.records.get().saturating_add(1)).await?;
        for (at, lane) in again.into_iter().zip(more) {
            found[at] = lane;
        }
        Ok(found)
    }

    async fn look(&self, lanes: &[LaneRead], rows: u32) -> Result<Vec<Found>, StoreError> {
        let mut values: Vec<Value> = vec![
            json_lanes(lanes).into(),
            json_positions(&self.request.known).into(),
            self.now.into(),
            Format::CURRENT.0.into(),
            i64::from(rows).into(),
        ];
        let mut text = &self.read.candidates;
        if !self.request.without.is_empty() {
            text = &self.read.withholding;
            let Without { destinations, keys, ordered } = Without::of(self.request);
            values.extend([destinations.into(), keys.into(), LOOKED_AT.into()]);
            values.extend([i64::from(due_look(self.request)).into(), ordered.into()]);
        }
        let found = self.txn.query_all_raw(statement(text, values)).await;
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        found.map_err(failed("read"))?.iter().map(|lane| in_order(lane, rows)).collect()
    }
}

/// `?1` lanes with their floors, `?2` known positions, `?3` now, `?4` newest format, `?5` rows.
///
/// A row for each lane: what waited and is due, then what never waited, as lists of position and
/// size.
fn candidates(names: &TableNames) -> String {
    let message = names.quoted("message", '"');
    let due = list(&message, &format!("{MINE} AND {DUE}"));
    let new = list(&message, &format!("{MINE} AND {NEW}"));
    format!("SELECT {due}, {new}, NULL, NULL FROM json_each(?1) AS l ORDER BY l.key")
}

/// As [`candidates`], past records that are withheld: `?6` destinations, `?7` keys, `?8` rows of each
/// lane that are looked at and `?9` of those that waited, `?10` topics with all of their keys, so that a long queue is not walked at once.
///
/// The third column is how far that went, the fourth where it ended among those that waited, if there
/// may be more of them.
fn candidates_past(names: &TableNames) -> String {
    let message = names.quoted("message", '"');
    let pairs = |list: &str| {
        format!(
            "SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each({list})"
        )
    };
    let (destinations, keys) = (pairs("?6"), pairs("?7"));
    let mine = format!(
        "{MINE} AND CASE WHEN m.ordering_key IS NULL
            THEN (m.topic, coalesce(m.transport, '')) NOT IN ({destinations})
            ELSE m.topic NOT IN (SELECT value FROM json_each(?10))
                AND (m.attempts > 0 OR (m.topic, m.ordering_key) NOT IN ({keys}))
            END"
    );
    let [waited, part] = [
        "available_at <= ?3 AND (available_at, position)
            > (json_extract(l.value, '$[2]'), json_extract(l.value, '$[3]'))
            ORDER BY available_at, position LIMIT ?9",
        "position > json_extract(l.value, '$[1]') ORDER BY position LIMIT ?8",
    ]
    .map(|rows| {
        format!(
            "(SELECT lane, position, id, format, topic, transport, ordering_key, attempts,
                available_at, revision, size
            FROM {message} WHERE lane = json_extract(l.value, '$[0]') AND {rows})"
        )
    });
    let due = list(&waited, &format!("{mine} AND {DUE}"));
    let new = list(&part, &format!("{mine} AND {NEW}"));
    let reached = format!(
        "coalesce((SELECT max(p.position) FROM {part} AS p), json_extract(l.value, '$[1]'))"
    );
    let due_reached = format!(
        "(SELECT json_array(CAST(p.available_at AS INTEGER), p.position) FROM {waited} AS p LIMIT 1 OFFSET ?9 - 1)"
    );
    format!("SELECT {due}, {new}, {reached}, {due_reached} FROM json_each(?1) AS l ORDER BY l.key")
}

const MINE: &str = "m.lane = json_extract(l.value, '$[0]') AND m.format <= ?4
        AND m.position NOT IN (SELECT value FROM json_each(?2))
        AND typeof(m.id) = 'blob' AND length(m.id) = 16 AND m.id <> zeroblob(16)
        AND typeof(m.revision) = 'integer'";

const DUE: &str = "m.available_at IS NOT NULL AND m.available_at <= ?3
        ORDER BY m.available_at, m.position";

const NEW: &str = "m.available_at IS NULL AND m.position > json_extract(l.value, '$[1]')
        ORDER BY m.position";

fn list(of: &str, rows: &str) -> String {
    format!(
        "(SELECT json_group_array(json_array(c.position, c.size)) FROM (
        SELECT m.position, CAST(m.size AS INTEGER) AS size FROM {of} AS m
        WHERE {rows} LIMIT ?5
    ) AS c)"
    )
}

/// `?1` positions, `?2` now.
fn records(names: &TableNames) -> String {
    let (message, columns) = (names.quoted("message", '"'), columns::list("m", &RECORD));
    format!(
        "SELECT {columns}, ?2 - m.first_failed_at FROM {message} AS m
WHERE m.position IN (SELECT value FROM json_each(?1))
ORDER BY m.available_at IS NULL, m.lane, m.position"
    )
}

/// The two lists of a lane as one, cut to as many rows as each of them was.
fn in_order(lane: &QueryResult, rows: usize) -> Result<Found, StoreError> {
    let list = |at: usize| {
        let text: String = lane.try_get_by_index(at).map_err(failed("read"))?;
        serde_json::from_str::<Vec<(i64, i64)>>(&text).map_err(|_| unreadable("read"))
    };
    let both = list(0)?.into_iter().chain(list(1)?);
    let candidate = |(position, size)| Candidate {
        position: Position(position),
        size: u64::try_from(size).unwrap_or_default(),
    };
    let candidates: Vec<Candidate> = both.take(rows).map(candidate).collect();
    let reached: Option<i64> = lane.try_get_by_index(2).map_err(failed("read"))?;
    let due_reached: Option<String> = lane.try_get_by_index(3).map_err(failed("read"))?;
    let due_reached = match due_reached {
        Some(text) => ending(&text).ok_or_else(|| unreadable("read"))?,
        None => DuePlace::END,
    };
    let reached = reached.filter(|_| candidates.len() < rows);
    Ok(Found { candidates, reached: reached.map(|at| (Position(at), due_reached)) })
}

fn ending(text: &str) -> Option<DuePlace> {
    let (micros, position) = serde_json::from_str(text).ok()?;
    due_place(micros, position)
}

fn json_lanes(lanes: &[LaneRead]) -> String {
    json_list(lanes, |text, read| {
        let (due_at, due) = due_behind(read);
        _ = write!(text, "[{},{},{due_at},{due}]", read.lane, read.floor);
    })
}

fn json_positions(positions: &[Position]) -> String {
    json_list(positions, |text, position| _ = write!(text, "{position}"))
}
