//! Reading due records on MariaDB and MySQL: first which, then the records themselves.
//!
//! Which they are is told lane by lane, each by two short walks along an index, because MariaDB has
//! no lateral join and a join by lane would walk the whole backlog. All lanes are one statement, and
//! so one snapshot. Whatever settles meanwhile is missing among the records, and nothing else is.
//!
//! Transactions that are open cannot be told here, so a lane is read from its start: its known
//! records are walked by each read. They are left out here and not by the statement, which would
//! look them up anew for each lane.
//!
//! Settled records are walked as well until the server purges them, which it does not while an older
//! transaction may still see them: 0.15 s for a million. If a writer is open too that began before
//! they were settled, the server looks each of them up in the table, because an entry of an index does
//! not tell which transaction it is of: 3 s for a million. Another index would be slower without such
//! a writer.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use outbox_core::{
    Batch, Format, Lane, LaneRead, Position, ReadMark, ReadRequest, StoreError, TableNames,
};
use sea_orm::{ConnectionTrait, DatabaseConnection, QueryResult, Value};

use super::budget::{Candidate, spend};
use super::{Turns, Without, first_look};
use crate::mapping::columns::{self, RECORD};
use crate::mapping::{Decoder, failed, unreadable};
use crate::statement::clock::Now;
use crate::statement::json::json_list;
use crate::store::brief::statement;

/// How many places go into one statement: few enough for one TLS record.
const PLACES: usize = 400;

/// The statements that read from one outbox.
#[derive(Debug)]
pub(crate) struct Read {
    /// What waited, and what never did.
    wanted: [String; 2],
    /// The same with records that are withheld.
    withholding: [String; 2],
    records: String,
    turns: Arc<Turns>,
}

impl Read {
    pub(crate) fn new(names: &TableNames, clock: Now, turns: Arc<Turns>) -> Self {
        Self {
            wanted: [due(names, clock, ""), new(names, "")],
            withholding: [due(names, clock, WANTED), new(names, WANTED)],
            records: records(names, clock),
            turns,
        }
    }

    pub(crate) async fn read(
        &self,
        db: &DatabaseConnection,
        request: &ReadRequest,
    ) -> Result<Batch, StoreError> {
        let mut found = Vec::new();
        if !request.lanes.is_empty() {
            let known = request.known.iter().copied().collect();
            let look = Look { db, read: self, request, known };
            found = look.at_lanes(&self.turns.order(request)).await?;
        }
        let candidates: Vec<Vec<Candidate>> = found.iter().map(Found::candidates).collect();
        let candidates: Vec<&[Candidate]> = candidates.iter().map(Vec::as_slice).collect();
        let chosen: HashSet<Position> = spend(&candidates, request).into_iter().collect();
        let all: usize = candidates.iter().map(|lane| lane.len()).sum();
        let truncated = chosen.len() < all || found.iter().any(|lane| lane.more);

        let mut decoder = Decoder::for_rows(chosen.len());
        for places in places(&found, &chosen).chunks(PLACES) {
            let statement = statement(&self.records, [json_places(places).into()]);
            for row in db.query_all_raw(statement).await.map_err(failed("read"))? {
                decoder.add(row.try_as_mysql_row().ok_or_else(|| unreadable("read"))?, 0);
            }
        }
        let Decoder { records, undecodable, .. } = decoder;
        let mut reached = Vec::new();
        if !request.without.is_empty() {
            reached.extend(found.iter().filter(|lane| lane.is_whole(&chosen)).map(Found::end_of));
        }
        Ok(Batch { records, undecodable, truncated, mark: ReadMark::Unknown, reached })
    }

    fn look(&self, lanes: usize, withholds: bool) -> String {
        let [due, new] = if withholds { &self.withholding } else { &self.wanted };
        let lanes = vec![format!("({due}) UNION ALL ({new})"); lanes].join(" UNION ALL ");
        if withholds { format!("{WITHHELD} {lanes}") } else { lanes }
    }
}

/// What a lane has, as far as it was looked at.
#[derive(Debug)]
struct Found {
    lane: Lane,
    /// What waited and is due, longest due first.
    due: Vec<Candidate>,
    /// What never waited.
    new: Vec<Candidate>,
    /// How many there were of each, known ones included.
    seen: [u32; 2],
    /// Whether there may be more behind.
    more: bool,
}

impl Found {
    const fn nothing(lane: Lane) -> Self {
        Self { lane, due: Vec::new(), new: Vec::new(), seen: [0, 0], more: false }
    }

    fn candidates(&self) -> Vec<Candidate> {
        self.due.iter().chain(&self.new).copied().collect()
    }

    fn len(&self) -> usize {
        self.due.len() + self.new.len()
    }

    /// Whether all that the lane has is among these.
    fn is_whole(&self, chosen: &HashSet<Position>) -> bool {
        let mut candidates = self.due.iter().chain(&self.new);
        !self.more && candidates.all(|candidate| chosen.contains(&candidate.position))
    }

    const fn end_of(&self) -> (Lane, Position) {
        (self.lane, Position(i64::MAX))
    }

    /// Notes whether each walk came to its end. What never waited stands behind all that did.
    fn end(&mut self, limit: u32) {
        self.more = self.seen.contains(&limit);
        if self.seen[0] == limit {
            self.new.clear();
        }
        self.new.sort_by_key(|candidate| candidate.position);
    }
}

/// Looks for records that are due.
struct Look<'a> {
    db: &'a DatabaseConnection,
    read: &'a Read,
    request: &'a ReadRequest,
    known: HashSet<Position>,
}

impl Look<'_> {
    /// Candidates of each lane, among them all that the budget can take.
    ///
    /// Looks at each lane for its share and that of the known records; while that leaves room, the
    /// lanes that may have more are looked at again.
    async fn at_lanes(&self, lanes: &[LaneRead]) -> Result<Vec<Found>, StoreError> {
        let known = self.known.len().div_ceil(lanes.len());
        let most = usize::try_from(self.request.records.get()).unwrap_or(usize::MAX);
        let mut limit = first_look(self.request).saturating_add(fitting(known));
        let mut found = self.look(lanes, limit).await?;
        loop {
            let rows: usize = found.iter().map(Found::len).sum();
            let again: Vec<usize> = (0..found.len()).filter(|at| found[*at].more).collect();
            if rows > most || again.is_empty() {
                return Ok(found);
            }
            // How many of what is behind are known is not told by lane.
            let room = fitting(2 * (most - rows).div_ceil(again.len()) + 1);
            limit = limit.saturating_mul(2).saturating_add(room);
            let rest: Vec<LaneRead> = again.iter().map(|at| lanes[*at]).collect();
            for (at, lane) in again.into_iter().zip(self.look(&rest, limit).await?) {
                found[at] = lane;
            }
        }
    }

    async fn look(&self, lanes: &[LaneRead], limit: u32) -> Result<Vec<Found>, StoreError> {
        let without = Some(Without::of(self.request)).filter(|_| !self.request.without.is_empty());
        let text = self.read.look(lanes.len(), without.is_some());
        let withheld = without.into_iter().flat_map(|it| [it.destinations.into(), it.keys.into()]);
        let values: Vec<Value> = withheld.chain(values(lanes, limit)).collect();
        let rows = self.db.query_all_raw(statement(&text, values)).await;
        let mut found: Vec<Found> = lanes.iter().map(|read| Found::nothing(read.lane)).collect();
        for row in rows.map_err(failed("read"))? {
            self.add(&row, &mut found)?;
        }
        for lane in &mut found {
            lane.end(limit);
        }
        Ok(found)
    }

    fn add(&self, row: &QueryResult, found: &mut [Found]) -> Result<(), StoreError> {
        let number = |at: usize| row.try_get_by_index::<i64>(at).map_err(failed("read"));
        let (lane, waited) = (number(0)?, number(1)? != 0);
        let position = Position(number(2)?);
        let candidate = Candidate { position, size: u64::try_from(number(3)?).unwrap_or_default() };
        let of_row = |found: &&mut Found| i64::from(found.lane.number()) == lane;
        let lane = found.iter_mut().find(of_row).ok_or_else(|| unreadable("read"))?;
        lane.seen[usize::from(!waited)] += 1;
        if self.known.contains(&position) {
            return Ok(());
        }
        if waited {
            lane.due.push(candidate);
        } else {
            lane.new.push(candidate);
        }
        Ok(())
    }
}

fn fitting(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Lane and limit, then lane, floor and limit, of each lane.
fn values(lanes: &[LaneRead], limit: u32) -> impl Iterator<Item = Value> {
    let of_lane = move |read: &LaneRead| {
        let (lane, limit) = (i16::from(read.lane.number()), i64::from(limit));
        [lane.into(), limit.into(), lane.into(), read.floor.0.into(), limit.into()]
    };
    lanes.iter().flat_map(of_lane)
}

/// The chosen places in the order of the answer: what waited first, each part lane by lane.
fn places(found: &[Found], chosen: &HashSet<Position>) -> Vec<(Lane, Position)> {
    let part = |of: fn(&Found) -> &Vec<Candidate>| {
        let at = |lane: &'_ Found| {
            let number = lane.lane;
            of(lane).iter().map(move |it| (number, it.position)).collect::<Vec<_>>()
        };
        let mut places: Vec<(Lane, Position)> = found.iter().flat_map(at).collect();
        places.retain(|(_, position)| chosen.contains(position));
        places.sort_unstable();
        places
    };
    [part(|lane| &lane.due), part(|lane| &lane.new)].concat()
}

fn json_places(places: &[(Lane, Position)]) -> String {
    json_list(places, |text, (lane, position)| _ = write!(text, "[{lane},{position}]"))
}

/// What is told of a record that may be read, before its payload is touched.
///
/// Both walks follow the index of what is due, whose entries of one instant (or of none) stand in
/// order of position: those that are scheduled are not walked for those that never waited.
fn look(names: &TableNames, waited: bool) -> String {
    let message = names.quoted("message", '`');
    let due = names.identifier("message_due").replace('`', "``");
    let (format, waited) = (Format::CURRENT.0, i32::from(waited));
    format!(
        "SELECT m.lane, {waited}, m.position, m.size FROM {message} AS m FORCE INDEX (`{due}`)
WHERE m.lane = ? AND m.format <= {format} AND m.id <> X'00000000000000000000000000000000'"
    )
}

/// `?` destinations and keys that are withheld.
const WITHHELD: &str = "WITH destination AS (
    SELECT d.topic, d.transport FROM JSON_TABLE(?, '$[*]'
        COLUMNS (topic TEXT PATH '$[0]', transport TEXT PATH '$[1]')) AS d
), kept AS (
    SELECT k.topic, k.ordering_key FROM JSON_TABLE(?, '$[*]'
        COLUMNS (topic TEXT PATH '$[0]', ordering_key TEXT PATH '$[1]')) AS k
)";

const WANTED: &str = " AND (m.topic, COALESCE(m.transport, '')) NOT IN
    (SELECT topic, transport FROM destination)
    AND (m.ordering_key IS NULL OR (
        m.topic NOT IN (SELECT topic FROM destination)
        AND (m.attempts > 0 OR (m.topic, m.ordering_key) NOT IN
            (SELECT topic, ordering_key FROM kept))
    ))";

/// `?` lane and rows.
fn due(names: &TableNames, clock: Now, without: &str) -> String {
    let now = clock.mysql();
    let look = look(names, true);
    format!("{look}{without} AND m.available_at <= {now} ORDER BY m.available_at LIMIT ?")
}

/// `?` lane, floor and rows.
fn new(names: &TableNames, without: &str) -> String {
    let look = look(names, false);
    format!(
        "{look}{without} AND m.available_at IS NULL AND m.position > ? ORDER BY m.position LIMIT ?"
    )
}

/// The records at the places `?`, in their order. One that has failed meanwhile is no longer due.
fn records(names: &TableNames, clock: Now) -> String {
    let now = clock.mysql();
    let (message, columns) = (names.quoted("message", '`'), columns::list("m", &RECORD));
    format!(
        "SELECT {columns}, TIMESTAMPDIFF(MICROSECOND, m.first_failed_at, {now})
FROM JSON_TABLE(?, '$[*]' COLUMNS (lane SMALLINT PATH '$[0]', position BIGINT PATH '$[1]')) AS u
STRAIGHT_JOIN {message} AS m FORCE INDEX (PRIMARY)
    ON m.lane = u.lane AND m.position = u.position
WHERE m.available_at IS NULL OR m.available_at <= {now}"
    )
}
