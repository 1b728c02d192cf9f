//! The right to send the records of a lane.

use std::time::Duration;

use crate::error::{StoreError, StoreErrorKind};
use crate::id::{LeaseToken, WorkerId};
use crate::lane::Lane;
use crate::record::{KeyRef, Position, RecordRef};

/// How long a lease lasts without renewal, never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeaseTime(Duration);

impl LeaseTime {
    /// Takes a duration of at least one millisecond.
    ///
    /// # Errors
    /// [`StoreErrorKind::InvalidArgument`] for less.
    pub fn new(time: Duration) -> Result<Self, StoreError> {
        if time < Duration::from_millis(1) {
            return Err(StoreError::new(
                StoreErrorKind::InvalidArgument,
                "a lease must last at least a millisecond",
            ));
        }
        Ok(Self(time))
    }

    /// The duration.
    pub const fn duration(self) -> Duration {
        self.0
    }
}

/// Asks for lanes that nobody holds.
#[derive(Clone, Debug)]
pub struct LeaseRequest {
    /// Who asks.
    pub owner: WorkerId,
    /// How many lanes at most.
    pub lanes: u8,
    /// How long each lease lasts without renewal.
    pub lease: LeaseTime,
    /// Also takes every lane that has been free for longer than this, beyond `lanes`: a share that
    /// its worker never collects must not strand the records in it.
    pub orphans: Option<Duration>,
    /// Lanes that are taken only as orphans: the asker gave them up for a worker that can send what is
    /// in them.
    pub except: Vec<Lane>,
    /// Counts a lane as abandoned if another owner's lease of it ran out and a record in it is due:
    /// that owner may have died of the record.
    ///
    /// Not for a worker that was out of touch with the store itself until a moment ago: then leases
    /// ran out because nobody could renew them, and nobody died.
    pub counts_abandoned: bool,
}

/// An exclusive, time-limited right to send the records of one lane.
///
/// The token is fresh for each lease; renewal keeps it. Losing a lane can repeat every record of it
/// that is in flight: the LEASE window is as wide as the lane's in-flight limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaneLease {
    /// The lane.
    pub lane: Lane,
    /// Fencing token that every outcome must name.
    pub token: LeaseToken,
}

/// An ordering key and one of its records that failed; later ones wait for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingKey {
    /// The key.
    pub key: KeyRef,
    /// Position of the record that failed and will be tried again.
    pub head: Position,
    /// Time until that record is due, by the database's clock; zero if it is due.
    pub due_in: Duration,
}

/// A record that another holds by a claim of its own; the owner of the lane leaves it alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedRecord {
    /// Its position.
    pub position: Position,
    /// Key in whose order it stands, if any.
    pub key: Option<KeyRef>,
    /// Time until the claim ends unless it is renewed, by the database's clock; zero if it has just
    /// ended and is still there.
    pub ends_in: Duration,
}

/// A record that was marked as the one that a worker sends when that worker died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suspect {
    /// Its position in the lane.
    pub position: Position,
    /// How many workers have died with this mark.
    pub deaths: u32,
}

/// What an owner must know of a lane before it sends from it.
#[derive(Clone, Debug, Default)]
pub struct LaneState {
    /// Failed records of ordered keys that are to be tried again, whether due already or not. A key
    /// has several if one of them was scheduled.
    pub waiting: Vec<WaitingKey>,
    /// Keys whose head is dead: their later records are parked.
    pub parked: Vec<(KeyRef, RecordRef)>,
    /// Records under claims of their own. None is added while the lane is leased.
    pub claimed: Vec<ClaimedRecord>,
    /// How often the lane was abandoned since an attempt of it was settled.
    pub abandoned: u32,
    /// The record that was marked last since then, if any.
    pub suspect: Option<Suspect>,
}
