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

use chrono::{DateTime, NaiveDateTime};
use outbox_core::{
    Batch, DuePlace, Format, Lane, LaneRead, Position, ReadMark, ReadRequest, StoreError,
    TableNames,
};
use sea_orm::{ConnectionTrait, DatabaseConnection, QueryResult, Value};

use super::budget::{Candidate, spend};
use super::{Turns, Without, due_look, first_look};
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
            wanted: [due(names, clock), new(names)],
            withholding: [due_past(names, clock), new_past(names)],
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
        let whole = found.iter().filter(|lane| lane.is_whole(&chosen));
        let told = whole.filter(|_| !request.without.is_empty());
        let (reached, due_reached) = told.map(Found::end_of).unzip();
        let mark = ReadMark::Unknown;
        Ok(Batch { records, undecodable, truncated, mark, reached, due_reached })
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
    /// Where a look that withholds something ended among those that waited.
    due_end: DuePlace,
}

impl Found {
    const fn nothing(lane: Lane) -> Self {
        Self {
            lane,
            due: Vec::new(),
            new: Vec::new(),
            seen: [0, 0],
            more: false,
            due_end: DuePlace::END,
        }
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

    const fn end_of(&self) -> ((Lane, Position), (Lane, DuePlace)) {
        ((self.lane, Position(i64::MAX)), (self.lane, self.due_end))
    }

    /// Notes whether each walk came to its end. What never waited stands behind all that did, unless
    /// so many of those were looked at as are looked at past what is withheld.
    fn end(&mut self, limit: u32, due_look: Option<u32>) {
        self.more = self.seen[1] == limit;
        if due_look.is_some_and(|look| self.seen[0] < look) {
            self.due_end = DuePlace::END;
        }
        if due_look.is_none() && self.seen[0] == limit {
            self.more = true;
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
        let due_look = Some(due_look(self.request)).filter(|_| !self.request.without.is_empty());
        let text = self.read.look(lanes.len(), due_look.is_some());
        let values: Vec<Value> = match due_look {
            None => values(lanes, limit).collect(),
            Some(look) => values_past(self.request, lanes, look, limit),
        };
        let rows = self.db.query_all_raw(statement(&text, values)).await;
        let mut found: Vec<Found> = lanes.iter().map(|read| Found::nothing(read.lane)).collect();
        for row in rows.map_err(failed("read"))? {
            self.add(&row, &mut found)?;
        }
        for lane in &mut found {
            lane.end(limit, due_look);
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
        let mut is_wanted = !self.known.contains(&position);
        if waited && !self.request.without.is_empty() {
            let available_at: NaiveDateTime = row.try_get_by_index(4).map_err(failed("read"))?;
            lane.due_end = DuePlace { available_at: available_at.and_utc(), position };
            is_wanted &= number(5)? != 0;
        }
        if !is_wanted {
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

/// What is withheld, in three lists; then lane, thrice a place and the rows to look at behind it,
/// and lane, floor and limit, of each lane.
fn values_past(request: &ReadRequest, lanes: &[LaneRead], look: u32, limit: u32) -> Vec<Value> {
    let Without { destinations, keys, ordered } = Without::of(request);
    let mut values: Vec<Value> = vec![destinations.into(), keys.into(), ordered.into()];
    for read in lanes {
        let lane = i16::from(read.lane.number());
        let (at, position) = read.due_behind.map_or((HELD[0], 0), |place| {
            (place.available_at.timestamp_micros().clamp(HELD[0], HELD[1]), place.position.0)
        });
        let at = DateTime::from_timestamp_micros(at).map(|at| at.naive_utc());
        values.extend([lane.into(), at.into(), at.into(), position.into()]);
        values.extend([i64::from(look).into(), lane.into(), read.floor.0.into()]);
        values.push(i64::from(limit).into());
    }
    values
}

/// The first and the last instant that the database holds, of the years 1000 and 9999.
const HELD: [i64; 2] = [-30_610_224_000_000_000, 253_402_300_799_999_999];

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

/// The walks follow the index of what is due, whose entries of one instant (or of none) stand in order
/// of position: those that are scheduled are not walked for those that never waited.
fn message(names: &TableNames) -> String {
    let message = names.quoted("message", '`');
    let due = names.identifier("message_due").replace('`', "``");
    format!("{message} AS m FORCE INDEX (`{due}`)")
}

/// What is told of a record that may be read, before its payload is touched.
fn look(names: &TableNames, waited: bool) -> String {
    let (message, readable) = (message(names), readable());
    let waited = i32::from(waited);
    format!(
        "SELECT m.lane, {waited}, m.position, m.size FROM {message}
WHERE m.lane = ? AND {readable}"
    )
}

fn readable() -> String {
    let format = Format::CURRENT.0;
    format!("m.format <= {format} AND m.id <> X'00000000000000000000000000000000'")
}

/// `?` lane and rows.
fn due(names: &TableNames, clock: Now) -> String {
    let (look, now) = (look(names, true), clock.mysql());
    format!("{look} AND m.available_at <= {now} ORDER BY m.available_at, m.position LIMIT ?")
}

/// `?` lane, floor and rows.
fn new(names: &TableNames) -> String {
    let look = look(names, false);
    format!("{look} AND m.available_at IS NULL AND m.position > ? ORDER BY m.position LIMIT ?")
}

/// `?` destinations, keys and topics with all of their keys that are withheld. Text out of JSON has
/// the character set of the database, which need not hold what ours does.
const WITHHELD: &str = "WITH destination AS (
    SELECT d.topic, d.transport FROM JSON_TABLE(?, '$[*]' COLUMNS (
        topic TEXT CHARACTER SET utf8mb4 PATH '$[0]',
        transport TEXT CHARACTER SET utf8mb4 PATH '$[1]'
    )) AS d
), kept AS (
    SELECT k.topic, k.ordering_key FROM JSON_TABLE(?, '$[*]' COLUMNS (
        topic TEXT CHARACTER SET utf8mb4 PATH '$[0]',
        ordering_key TEXT CHARACTER SET utf8mb4 PATH '$[1]'
    )) AS k
), ordered AS (
    SELECT o.topic FROM JSON_TABLE(?, '$[*]' COLUMNS (
        topic TEXT CHARACTER SET utf8mb4 PATH '$'
    )) AS o
)";

const WANTED: &str = "IF(m.ordering_key IS NULL,
    (m.topic, COALESCE(m.transport, '')) NOT IN (SELECT topic, transport FROM destination),
    m.topic NOT IN (SELECT topic FROM ordered)
        AND (m.attempts > 0 OR (m.topic, m.ordering_key) NOT IN
            (SELECT topic, ordering_key FROM kept)))";

/// `?` lane, twice the instant and once the position of the place behind which it is looked at, and
/// rows: all that are there, wanted or not, so that a long queue of what is withheld is not walked at
/// once. Beyond what [`look`] tells, when each is due and whether it is wanted.
fn due_past(names: &TableNames, clock: Now) -> String {
    let (message, readable, now) = (message(names), readable(), clock.mysql());
    format!(
        "SELECT m.lane, 1, m.position, m.size, m.available_at, {readable} AND {WANTED} FROM {message}
WHERE m.lane = ? AND (m.available_at > ? OR (m.available_at = ? AND m.position > ?))
    AND m.available_at <= {now}
ORDER BY m.available_at, m.position LIMIT ?"
    )
}

/// `?` lane, floor and rows.
fn new_past(names: &TableNames) -> String {
    let (message, readable) = (message(names), readable());
    format!(
        "SELECT m.lane, 0, m.position, m.size, NULL, 1 FROM {message}
WHERE m.lane = ? AND {readable} AND {WANTED} AND m.available_at IS NULL AND m.position > ?
ORDER BY m.position LIMIT ?"
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
