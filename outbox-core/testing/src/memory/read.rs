//! What is due, and what a new owner must know first.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use outbox_core::{
    Batch, DuePlace, Format, Lane, LaneLease, LaneRead, LaneState, OutboxRecord, Position,
    ReadMark, ReadRequest, UndecodableRow, WaitingKey, Withheld,
};

use super::state::{Row, State};
use crate::clock::between;

/// Rows of a lane that are looked at when others than those that are withheld are wanted.
const LOOKED_AT: usize = 50;
/// Of those that waited for an instant, so few that tests go on behind them.
const DUE_LOOKED_AT: usize = 10;

impl State {
    pub(super) fn read(&self, request: &ReadRequest, now: DateTime<Utc>) -> Batch {
        let known = request.known.iter().copied().collect();
        let mut ranked: Vec<(usize, &Row)> = Vec::new();
        // In the order in which they are asked for, which the sort by rank keeps.
        for lane in &request.lanes {
            let due = self.due_in(*lane, &known, now).into_iter();
            let end = self.look_ends_at(*lane, request);
            let due_end = self.due_look_ends_at(*lane, request, now);
            let seen = |row: &&Row| match row.due_place() {
                None => row.place().1 <= end,
                Some(place) => place <= due_end && is_behind(place, *lane, request),
            };
            let wanted = due.filter(|row| !is_withheld(row, &request.without));
            ranked.extend(wanted.filter(seen).enumerate());
        }
        // Rank by rank over all lanes, so that the budget cuts each lane to a prefix and a full
        // lane does not push the others out.
        ranked.sort_by_key(|(rank, _)| *rank);
        let kept = within_budget(&ranked, request);
        let truncated = kept < ranked.len();

        let mut rows: Vec<&Row> = ranked.into_iter().take(kept).map(|(_, row)| row).collect();
        rows.sort_by_key(|row| (row.record.available_at.is_none(), row.place()));
        let undecodable = rows.iter().filter_map(|row| undecodable(row)).collect();
        let records =
            rows.iter().filter(|row| row.damage.is_none()).map(|row| as_read(row, now)).collect();
        let (mut reached, mut due_reached) = (Vec::new(), Vec::new());
        for read in request.lanes.iter().filter(|_| !truncated && !request.without.is_empty()) {
            reached.push((read.lane, self.look_ends_at(*read, request)));
            due_reached.push((read.lane, self.due_look_ends_at(*read, request, now)));
        }
        Batch { records, undecodable, truncated, mark: self.mark(), reached, due_reached }
    }

    /// A read that withholds something looks at some rows of each lane, as a database does, unless
    /// lanes are read from their start each time.
    fn look_ends_at(&self, read: LaneRead, request: &ReadRequest) -> Position {
        if request.without.is_empty() || self.mark() == ReadMark::Unknown {
            return Position(i64::MAX);
        }
        let behind = self.lane_rows(read.lane).map(|row| row.place().1);
        let looked_at = behind.filter(|position| *position > read.floor).take(LOOKED_AT);
        looked_at.last().unwrap_or(read.floor)
    }

    /// The same among the rows that waited for an instant.
    fn due_look_ends_at(
        &self,
        read: LaneRead,
        request: &ReadRequest,
        now: DateTime<Utc>,
    ) -> DuePlace {
        let due = self.lane_rows(read.lane).filter(|row| row.is_due(now));
        let mut places: Vec<DuePlace> = due.filter_map(Row::due_place).collect();
        places.retain(|place| is_behind(*place, read, request));
        places.sort_unstable();
        let last = places.get(DUE_LOOKED_AT - 1).filter(|_| !request.without.is_empty());
        last.copied().unwrap_or(DuePlace::END)
    }

    pub(super) fn acquired(&mut self, leases: &[LaneLease], now: DateTime<Utc>) -> Vec<LaneState> {
        let state_of = |lease: &LaneLease| LaneState {
            abandoned: self.lanes[&lease.lane].losses.abandoned,
            suspect: self.lanes[&lease.lane].losses.suspect,
            claimed: self.clear_claims(lease.lane, now),
            waiting: self.waiting_in(lease.lane, now),
            parked: self
                .parked_keys
                .iter()
                .filter(|(_, dead)| dead.lane == lease.lane)
                .cloned()
                .collect(),
        };
        leases.iter().map(state_of).collect()
    }

    /// Due records of a lane as a budget takes them: first those that waited for an instant, longest
    /// due first, then the others, by position.
    fn due_in(&self, lane: LaneRead, known: &HashSet<Position>, now: DateTime<Utc>) -> Vec<&Row> {
        // A record that waited may have become due behind the floor, so the floor hides only
        // those that were due from the start.
        let behind_floor = |row: &&Row| {
            row.record.available_at.is_some() || row.record.reference.position > lane.floor
        };
        let mut due: Vec<&Row> = self
            .lane_rows(lane.lane)
            .filter(|row| row.is_due(now) && !known.contains(&row.record.reference.position))
            .filter(|row| row.record.message.format <= Format::CURRENT)
            .filter(behind_floor)
            .collect();
        due.sort_by_key(|row| (row.record.available_at.is_none(), row.record.available_at));
        due
    }

    fn waiting_in(&self, lane: Lane, now: DateTime<Utc>) -> Vec<WaitingKey> {
        let mut waiting: Vec<WaitingKey> = Vec::new();
        for row in self.lane_rows(lane).filter(|row| row.record.attempts > 0) {
            let Some((key, due)) = row.record.key().zip(row.record.available_at) else { continue };
            let head = row.record.reference.position;
            waiting.push(WaitingKey { key, head, due_in: between(now, due) });
        }
        waiting
    }

    /// All rows of a lane in order of position.
    fn lane_rows(&self, lane: Lane) -> impl Iterator<Item = &Row> {
        self.rows.range((lane, Position(i64::MIN))..=(lane, Position(i64::MAX))).map(|(_, row)| row)
    }
}

/// Whether a read that withholds something begins before this place.
fn is_behind(place: DuePlace, read: LaneRead, request: &ReadRequest) -> bool {
    request.without.is_empty() || read.due_behind.is_none_or(|behind| place > behind)
}

/// How many of the ranked rows fit: the first one always does by size.
fn within_budget(ranked: &[(usize, &Row)], request: &ReadRequest) -> usize {
    let most = usize::try_from(request.records.get()).unwrap_or(usize::MAX);
    let mut bytes = 0_u64;
    let fits = |(place, (_, row)): &(usize, &(usize, &Row))| {
        let size = u64::try_from(row.record.message.size()).unwrap_or(u64::MAX);
        bytes = bytes.saturating_add(size);
        *place == 0 || bytes <= request.bytes
    };
    ranked.iter().take(most).enumerate().take_while(fits).count()
}

fn is_withheld(row: &Row, without: &[Withheld]) -> bool {
    let message = &row.record.message;
    without.iter().any(|withheld| match withheld {
        Withheld::Destination { topic, transport } => {
            let unordered = message.ordering_key.is_none();
            unordered && *topic == message.topic && *transport == message.transport
        }
        Withheld::Ordered(topic) => message.ordering_key.is_some() && *topic == message.topic,
        Withheld::Key(key) => row.record.attempts == 0 && row.record.key().as_ref() == Some(key),
    })
}

fn undecodable(row: &Row) -> Option<UndecodableRow> {
    let error = row.damage.clone()?;
    let OutboxRecord { reference, revision, .. } = row.record;
    Some(UndecodableRow { reference, revision, key: row.record.key(), error })
}

fn as_read(row: &Row, now: DateTime<Utc>) -> OutboxRecord {
    let mut record = row.record.clone();
    record.failing_for = record.first_failed_at.map(|at| between(at, now)).unwrap_or_default();
    record
}
