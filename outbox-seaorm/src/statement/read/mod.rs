//! Reading due records of several lanes, without lock and without write.
//!
//! A lane gives first what waited for an instant (scheduled and failed records, longest due first),
//! then what was due from the start, by position. One budget of rows and bytes covers all lanes. It
//! is spent rank by rank, the first record of each lane before the second of any, so that it cuts
//! every lane to a prefix and a full lane does not push the others out.
//!
//! A record that no outcome could name, its id being no UUID or the nil one, is not read: it stays
//! pending and is counted. Staging never writes one.

#[cfg(any(feature = "mysql", feature = "sqlite"))]
mod budget;
#[cfg(feature = "mysql")]
pub(crate) mod mysql;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;

use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(any(feature = "postgres", feature = "sqlite"))]
use chrono::DateTime;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
use outbox_core::{DuePlace, Position};
use outbox_core::{LaneRead, ReadRequest, Withheld};

/// Rotates the lanes of reads whose rows do not suffice for one of each lane.
///
/// Ranks alone would give such a budget to the same lanes each time, and strand the others behind
/// a full one.
#[derive(Debug, Default)]
pub(crate) struct Turns(AtomicUsize);

impl Turns {
    /// The lanes in the order in which this read serves them.
    fn order(&self, request: &ReadRequest) -> Vec<LaneRead> {
        let mut lanes = request.lanes.clone();
        let rows = usize::try_from(request.records.get()).unwrap_or(usize::MAX);
        if rows < lanes.len() {
            let first = self.0.fetch_add(rows, Ordering::Relaxed) % lanes.len();
            lanes.rotate_left(first);
        }
        lanes
    }
}

/// How many rows of each lane are looked at first: its even share, and one to tell whether there
/// are more.
fn first_look(request: &ReadRequest) -> u32 {
    let lanes = u32::try_from(request.lanes.len()).unwrap_or(u32::MAX).max(1);
    request.records.get().div_ceil(lanes).saturating_add(1)
}

/// How many rows of a lane are looked at when others than those that are withheld are wanted.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
const LOOKED_AT: i64 = 2000;

/// How many rows that waited for an instant are looked at then, of all lanes together.
const DUE_LOOKED_AT: u32 = 6400;
/// How many of them of each lane at least.
const DUE_OF_LANE: u32 = 100;

/// How many rows of each lane that waited for an instant are looked at when others than those that
/// are withheld are wanted.
fn due_look(request: &ReadRequest) -> u32 {
    let lanes = u32::try_from(request.lanes.len()).unwrap_or(u32::MAX).max(1);
    (DUE_LOOKED_AT / lanes).max(DUE_OF_LANE)
}

/// The place behind which a lane is read, in microseconds and by position; before all of them if it
/// is read from the start.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
fn due_behind(read: &LaneRead) -> (i64, i64) {
    read.due_behind.map_or((BEFORE_ALL, 0), |place| {
        (place.available_at.timestamp_micros().clamp(BEFORE_ALL, BEHIND_ALL), place.position.0)
    })
}

/// Earlier than any instant that a database holds, and one that PostgreSQL holds.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
const BEFORE_ALL: i64 = -200_000_000_000_000_000;
/// The end of the year 9999.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
const BEHIND_ALL: i64 = 253_402_300_799_999_999;

/// The place out of microseconds.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
fn due_place(micros: i64, position: i64) -> Option<DuePlace> {
    let available_at = DateTime::from_timestamp_micros(micros)?;
    Some(DuePlace { available_at, position: Position(position) })
}

/// What a read leaves out, as lists: pairs of topic and transport, pairs of topic and ordering key,
/// topics with all of their keys. A record without a transport has the empty one.
#[derive(Debug)]
struct Without {
    destinations: String,
    keys: String,
    ordered: String,
}

impl Without {
    fn of(request: &ReadRequest) -> Self {
        let (mut destinations, mut keys, mut ordered) = (Vec::new(), Vec::new(), Vec::new());
        for withheld in &request.without {
            match withheld {
                Withheld::Destination { topic, transport } => {
                    destinations.push((&**topic, transport.as_deref().unwrap_or_default()));
                }
                Withheld::Key(key) => keys.push((&*key.topic, key.key.as_str())),
                Withheld::Ordered(topic) => ordered.push(&**topic),
            }
        }
        Self {
            destinations: json_pairs(&destinations),
            keys: json_pairs(&keys),
            ordered: serde_json::Value::from(ordered).to_string(),
        }
    }
}

fn json_pairs(pairs: &[(&str, &str)]) -> String {
    let pairs = pairs.iter().map(|(one, other)| vec![*one, *other]);
    pairs.collect::<serde_json::Value>().to_string()
}
