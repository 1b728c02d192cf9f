//! Reading due records on SQLite: first which, then the records themselves, in one snapshot.
//!
//! Positions are committed in order, because there is one writer at a time.

use std::fmt::Write as _;

use outbox_core::{
    Batch, Format, LaneRead, Position, ReadMark, ReadRequest, StoreError, TableNames,
};
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DatabaseTransaction, QueryResult, TransactionTrait,
};

use super::budget::{Candidate, spend};
use super::{Turns, first_look};
use crate::mapping::columns::{self, RECORD};
use crate::mapping::{Decoder, failed, unreadable};
use crate::statement::json::json_list;
use crate::store::immediate::{now, statement};

/// The statements that read from one outbox.
#[derive(Debug)]
pub(crate) struct Read {
    candidates: String,
    records: String,
    turns: Turns,
}

impl Read {
    pub(crate) fn new(names: &TableNames) -> Self {
        Self { candidates: candidates(names), records: records(names), turns: Turns::default() }
    }

    pub(crate) async fn read(
        &self,
        db: &DatabaseConnection,
        request: &ReadRequest,
    ) -> Result<Batch, StoreError> {
        let txn = db.begin().await.map_err(failed("read"))?;
        let look =
            Look { txn: &txn, text: &self.candidates, request, now: now(&txn, "read").await? };
        let found = look.at_lanes(&self.turns.order(request)).await?;
        let chosen = spend(&found, request);
        let truncated = chosen.len() < found.iter().map(Vec::len).sum();

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
        Ok(Batch { records, undecodable, truncated, mark: ReadMark::Ordered })
    }
}

/// Looks for records that are due, in one snapshot.
struct Look<'a> {
    txn: &'a DatabaseTransaction,
    text: &'a str,
    request: &'a ReadRequest,
    now: i64,
}

impl Look<'_> {
    /// Candidates of each lane, among them all that the budget can take and one more.
    ///
    /// Looks at each lane for its share; only if that leaves room, the lanes that have more are
    /// looked at again.
    async fn at_lanes(&self, lanes: &[LaneRead]) -> Result<Vec<Vec<Candidate>>, StoreError> {
        let share = first_look(self.request);
        let mut found = self.look(lanes, share).await?;
        let rows: usize = found.iter().map(Vec::len).sum();
        let most = usize::try_from(self.request.records.get()).unwrap_or(usize::MAX);
        let full = |lane: &Vec<Candidate>| u32::try_from(lane.len()).is_ok_and(|n| n == share);
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

    async fn look(&self, lanes: &[LaneRead], rows: u32) -> Result<Vec<Vec<Candidate>>, StoreError> {
        let values = [
            json_lanes(lanes).into(),
            json_positions(&self.request.known).into(),
            self.now.into(),
            Format::CURRENT.0.into(),
            i64::from(rows).into(),
        ];
        let found = self.txn.query_all_raw(statement(self.text, values)).await;
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
    let mine = "m.lane = json_extract(l.value, '$[0]') AND m.format <= ?4
        AND m.position NOT IN (SELECT value FROM json_each(?2))
        AND typeof(m.id) = 'blob' AND length(m.id) = 16 AND m.id <> zeroblob(16)
        AND typeof(m.revision) = 'integer'";
    let list = |rows: &str| {
        format!(
            "(SELECT json_group_array(json_array(c.position, c.size)) FROM (
        SELECT m.position, CAST(m.size AS INTEGER) AS size FROM {message} AS m
        WHERE {mine} AND {rows} LIMIT ?5
    ) AS c)"
        )
    };
    let due = list(
        "m.available_at IS NOT NULL AND m.available_at <= ?3
        ORDER BY m.available_at, m.position",
    );
    let new = list(
        "m.available_at IS NULL AND m.position > json_extract(l.value, '$[1]')
        ORDER BY m.position",
    );
    format!("SELECT {due}, {new} FROM json_each(?1) AS l ORDER BY l.key")
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
fn in_order(lane: &QueryResult, rows: usize) -> Result<Vec<Candidate>, StoreError> {
    let list = |at: usize| {
        let text: String = lane.try_get_by_index(at).map_err(failed("read"))?;
        serde_json::from_str::<Vec<(i64, i64)>>(&text).map_err(|_| unreadable("read"))
    };
    let both = list(0)?.into_iter().chain(list(1)?);
    let candidate = |(position, size)| Candidate {
        position: Position(position),
        size: u64::try_from(size).unwrap_or_default(),
    };
    Ok(both.take(rows).map(candidate).collect())
}

fn json_lanes(lanes: &[LaneRead]) -> String {
    json_list(lanes, |text, read| _ = write!(text, "[{},{}]", read.lane, read.floor))
}

fn json_positions(positions: &[Position]) -> String {
    json_list(positions, |text, position| _ = write!(text, "{position}"))
}
