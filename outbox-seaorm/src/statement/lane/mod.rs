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
    EventId, KeyRef, Lane, LaneLease, LaneState, Position, RecordRef, StoreError, WaitingKey,
};
use sea_orm::{DbErr, QueryResult};
use uuid::Uuid;

use crate::mapping::{duration, failed, unreadable};

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

/// What one row says of a key: it waits for a record, or a dead letter parks it.
struct KeyRow {
    lane: i16,
    topic: String,
    key: String,
    /// Of the record that is awaited, or of the dead letter.
    position: i64,
    due_in: Option<i64>,
    dead: Option<(Uuid, i16)>,
}

fn key_rows(rows: &[QueryResult]) -> Result<Vec<KeyRow>, StoreError> {
    let key_row = |row: &QueryResult| {
        let dead_id: Option<Uuid> = row.try_get_by_index(5)?;
        let dead_lane: Option<i16> = row.try_get_by_index(6)?;
        Ok(KeyRow {
            lane: row.try_get_by_index(0)?,
            topic: row.try_get_by_index(1)?,
            key: row.try_get_by_index(2)?,
            position: row.try_get_by_index(3)?,
            due_in: row.try_get_by_index(4)?,
            dead: dead_id.zip(dead_lane),
        })
    };
    rows.iter().map(key_row).collect::<Result<_, DbErr>>().map_err(failed("acquired"))
}

/// Sorts rows into the states of the lanes, in the order of the leases.
fn states(leases: &[LaneLease], rows: Vec<KeyRow>) -> Result<Vec<LaneState>, StoreError> {
    let mut states = vec![LaneState::default(); leases.len()];
    for row in rows {
        let key = KeyRef { topic: row.topic.into(), key: row.key };
        let position = Position(row.position);
        let at = leases.iter().position(|lease| i16::from(lease.lane.number()) == row.lane);
        let state = at.and_then(|at| states.get_mut(at)).ok_or_else(|| unreadable("acquired"))?;
        if let Some((id, lane)) = row.dead {
            let (id, lane) = (EventId::from_uuid(id)?, Lane::try_from(lane)?);
            state.parked.push((key, RecordRef { id, lane, position }));
        } else {
            let due_in = duration(row.due_in.unwrap_or_default());
            state.waiting.push(WaitingKey { key, head: position, due_in });
        }
    }
    Ok(states)
}
