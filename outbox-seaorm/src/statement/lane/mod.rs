//! Leasing lanes.
//!
//! One rule binds every statement that touches several lanes, here and elsewhere: it locks them in
//! the order of their numbers and before it does anything else. Two statements of one worker would
//! deadlock otherwise, and a lane whose lease expires meanwhile would be settled by halves.

#[cfg(feature = "mysql")]
pub(crate) mod mysql;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;

use std::collections::HashSet;

#[cfg(any(feature = "postgres", feature = "sqlite"))]
use outbox_core::LeaseToken;
use outbox_core::{
    EventId, KeyRef, Lane, LaneLease, LaneState, Position, RecordRef, StoreError, Suspect,
    WaitingKey,
};
use sea_orm::{DbErr, QueryResult};
use uuid::Uuid;

use crate::mapping::{duration, failed, unreadable};

/// These lanes, one bit each: a list of them is then one value in every dialect.
fn bits(lanes: &[Lane]) -> i64 {
    lanes.iter().fold(0, |bits, lane| bits | (1 << lane.number()))
}

/// The leases of `asked` that are among `held`, in their order.
fn still_held(asked: &[LaneLease], held: &[LaneLease]) -> Vec<LaneLease> {
    let held: HashSet<&LaneLease> = held.iter().collect();
    asked.iter().filter(|lease| held.contains(lease)).copied().collect()
}

/// Leases out of rows of a lane and its token.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
fn leases(rows: &[QueryResult], operation: &'static str) -> Result<Vec<LaneLease>, StoreError> {
    let lease = |row: &QueryResult| {
        let lane: i16 = row.try_get_by_index(0).map_err(failed(operation))?;
        let token: Uuid = row.try_get_by_index(1).map_err(failed(operation))?;
        Ok(LaneLease { lane: Lane::try_from(lane)?, token: LeaseToken::from_uuid(token)? })
    };
    rows.iter().map(lease).collect()
}

/// What one row says of a lane: it was abandoned, a key of it waits for a record, or a dead letter
/// parks one.
struct LaneRow {
    lane: i16,
    key: Option<KeyRef>,
    /// Of the suspect, of the record that is awaited, or of the dead letter.
    position: Option<Position>,
    due_in: Option<i64>,
    dead: Option<(Uuid, i16)>,
    /// How often it was abandoned, and how many died of the suspect.
    losses: Option<(i32, i32)>,
}

/// Leaves out a failed record whose own columns cannot be read, with a warning: it stops nobody, and
/// once it is due it is read as one that cannot be decoded.
fn lane_rows(rows: &[QueryResult]) -> Result<Vec<LaneRow>, StoreError> {
    let mut readable = Vec::with_capacity(rows.len());
    for row in rows {
        match lane_row(row) {
            Ok(row) => readable.push(row),
            Err(error) if is_of_record(row) => {
                tracing::warn!(%error, "a failed record cannot be read: its key does not wait for it");
            }
            Err(error) => return Err(failed("acquired")(error)),
        }
    }
    Ok(readable)
}

/// Whether it is of no parked key and tells of no losses.
fn is_of_record(row: &QueryResult) -> bool {
    matches!(row.try_get_by_index::<Option<Uuid>>(5), Ok(None))
        && matches!(row.try_get_by_index::<Option<i32>>(7), Ok(None))
}

fn lane_row(row: &QueryResult) -> Result<LaneRow, DbErr> {
    let topic: Option<String> = row.try_get_by_index(1)?;
    let key: Option<String> = row.try_get_by_index(2)?;
    let position: Option<i64> = row.try_get_by_index(3)?;
    let dead_id: Option<Uuid> = row.try_get_by_index(5)?;
    let dead_lane: Option<i16> = row.try_get_by_index(6)?;
    let abandoned: Option<i32> = row.try_get_by_index(7)?;
    let deaths: Option<i32> = row.try_get_by_index(8)?;
    Ok(LaneRow {
        lane: row.try_get_by_index(0)?,
        key: topic.zip(key).map(|(topic, key)| KeyRef { topic: topic.into(), key }),
        position: position.map(Position),
        due_in: row.try_get_by_index(4)?,
        dead: dead_id.zip(dead_lane),
        losses: abandoned.zip(deaths),
    })
}

/// Sorts rows into the states of the lanes, in the order of the leases.
fn states(leases: &[LaneLease], rows: Vec<LaneRow>) -> Result<Vec<LaneState>, StoreError> {
    let mut states = vec![LaneState::default(); leases.len()];
    for row in rows {
        let at = leases.iter().position(|lease| i16::from(lease.lane.number()) == row.lane);
        let state = at.and_then(|at| states.get_mut(at)).ok_or_else(|| unreadable("acquired"))?;
        add(state, row)?;
    }
    Ok(states)
}

fn add(state: &mut LaneState, row: LaneRow) -> Result<(), StoreError> {
    if let Some((abandoned, deaths)) = row.losses {
        let count = |number: i32| u32::try_from(number).unwrap_or_default();
        state.abandoned = count(abandoned);
        state.suspect = row.position.map(|position| Suspect { position, deaths: count(deaths) });
        return Ok(());
    }
    let (key, position) = row.key.zip(row.position).ok_or_else(|| unreadable("acquired"))?;
    if let Some((id, lane)) = row.dead {
        let (id, lane) = (EventId::from_uuid(id)?, Lane::try_from(lane)?);
        state.parked.push((key, RecordRef { id, lane, position }));
    } else {
        let due_in = duration(row.due_in.unwrap_or_default());
        state.waiting.push(WaitingKey { key, head: position, due_in });
    }
    Ok(())
}
