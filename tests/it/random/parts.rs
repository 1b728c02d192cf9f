//! Answers to reads that withhold something.
//!
//! A store may look at a part of a lane only, and then tells how far it looked. So two answers need
//! not be the same; what each of them leaves out must be told.

use std::collections::{BTreeMap, BTreeSet};

use outbox_core::{Batch, DuePlace, Lane, LaneRead, Position, ReadRequest};

use super::compare::{Difference, pieces, same};

/// The answer of a database, in our words. `all` is whatever is due and wanted.
pub(super) fn parts(request: &ReadRequest, real: &Batch, all: &Batch) -> Result<(), Difference> {
    let asked: BTreeSet<Lane> = request.lanes.iter().map(|read| read.lane).collect();
    let told: BTreeSet<Lane> = real.reached.iter().map(|(lane, _)| *lane).collect();
    same("lanes are told once each", &told.len(), &real.reached.len())?;
    same("lanes that were asked for are told", &true, &told.is_subset(&asked))?;
    let due_told: BTreeSet<Lane> = real.due_reached.iter().map(|(lane, _)| *lane).collect();
    same("what waited is told of the same lanes", &told, &due_told)?;
    let (answer, mut seen) = (places(real), all.clone());
    let left_out: BTreeSet<_> = places(all).difference(&answer).copied().collect();
    let mut cut = false;
    for read in &request.lanes {
        let of_lane = |places: &BTreeSet<(Lane, Position)>| {
            let of_lane = places.iter().filter(|(lane, _)| *lane == read.lane);
            of_lane.map(|(_, position)| *position).collect::<Vec<_>>()
        };
        let (answer, left_out) = (of_lane(&answer), of_lane(&left_out));
        match real.reached.iter().find(|(lane, _)| *lane == read.lane) {
            Some((_, reached)) => {
                let due = real.due_reached.iter().find(|(lane, _)| *lane == read.lane);
                lane(
                    *read,
                    *reached,
                    due.map_or(DuePlace::END, |(_, place)| *place),
                    all,
                    left_out,
                )?;
                seen.records.retain(|record| {
                    let place = record.reference;
                    place.lane != read.lane || answer.contains(&place.position)
                });
            }
            None => cut |= !left_out.is_empty(),
        }
    }
    same("a lane that is not told was cut", &(cut && real.truncated), &real.truncated)?;
    pieces(real, &seen)
}

/// One lane of which is told how far it was looked at, also among what waited.
fn lane(
    read: LaneRead,
    reached: Position,
    due: DuePlace,
    all: &Batch,
    mut left_out: Vec<Position>,
) -> Result<(), Difference> {
    let LaneRead { lane, floor, .. } = read;
    let waited = waited(all);
    let behind = |at: &Position| waited.get(at).is_some_and(|place| *place > due);
    // Of a row that cannot be decoded nobody tells when it is due.
    let is_row = |at: &Position| all.undecodable.iter().any(|row| row.reference.position == *at);
    left_out.retain(|at| !behind(at) && (due == DuePlace::END || !is_row(at)));
    let below = left_out.iter().find(|at| waited.contains_key(at) || **at <= reached);
    same(&format!("{lane:?} is looked at up to {reached} and {due:?}, without"), &None, &below)?;
    // Or the next read would look no further.
    let gets_on = reached > floor || left_out.is_empty() && reached == floor;
    same(&format!("{lane:?} is looked at from {floor} to {reached}"), &true, &gets_on)
}

/// Where records stand that waited.
fn waited(batch: &Batch) -> BTreeMap<Position, DuePlace> {
    let waited = batch.records.iter().filter_map(|record| {
        let position = record.reference.position;
        Some((position, DuePlace { available_at: record.available_at?, position }))
    });
    waited.collect()
}

fn places(batch: &Batch) -> BTreeSet<(Lane, Position)> {
    let records = batch.records.iter().map(|record| record.reference);
    let places = records.chain(batch.undecodable.iter().map(|row| row.reference));
    places.map(|place| (place.lane, place.position)).collect()
}
