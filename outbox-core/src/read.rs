//! Reading the records of leased lanes.

use std::num::NonZeroU32;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::lane::Lane;
use crate::record::{KeyRef, OutboxRecord, Position, RecordRef};

/// From where one lane is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneRead {
    /// The lane.
    pub lane: Lane,
    /// Only records behind this position. Those that waited for an instant are read wherever they
    /// stand.
    pub floor: Position,
    /// Of those that waited for an instant, only what is due behind this place. It counts in a read
    /// that withholds something; any other looks at all of them.
    pub due_behind: Option<DuePlace>,
}

impl LaneRead {
    /// All of a lane that is behind this position, and whatever waited and is due.
    pub const fn new(lane: Lane, floor: Position) -> Self {
        Self { lane, floor, due_behind: None }
    }
}

/// A place among the records of a lane that waited for an instant, scheduled and failed ones: they
/// stand in the order in which they are due, those of one instant by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DuePlace {
    /// When a record is due.
    pub available_at: DateTime<Utc>,
    /// Its position.
    pub position: Position,
}

impl DuePlace {
    /// Stands for the end: behind all that is due.
    pub const END: Self =
        Self { available_at: DateTime::<Utc>::MAX_UTC, position: Position(i64::MAX) };
}

/// Asks for records that are due, of several lanes at once.
///
/// A read takes no lock and writes nothing; the lease of each lane is what makes it exclusive.
#[derive(Clone, Debug)]
pub struct ReadRequest {
    /// The lanes and where each starts. Where the bytes do not suffice for a record of each, the first
    /// ones have theirs: whoever reads again names them in another order.
    pub lanes: Vec<LaneRead>,
    /// Positions that the caller knows already; they are left out and count for nothing.
    pub known: Vec<Position>,
    /// Records that the caller does not want now; they are left out and count for nothing.
    pub without: Vec<Withheld>,
    /// Most records in the answer.
    pub records: NonZeroU32,
    /// Most bytes in the answer, by the stored size. A record that is larger is read alone.
    pub bytes: u64,
}

/// Records that a read leaves out although they are due.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Withheld {
    /// Those without an ordering key that go to this topic through this transport.
    Destination {
        /// The topic.
        topic: Arc<str>,
        /// The transport; `None` for records that name none.
        transport: Option<String>,
    },
    /// Those of an ordering key that were never tried. One that failed is read all the same: the others
    /// wait for it.
    Key(KeyRef),
    /// Those of this topic that have an ordering key, tried or not: a key is in order whatever the
    /// transports of its records.
    Ordered(Arc<str>),
}

/// A stored row that cannot be decoded. It never stops its lane, only its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndecodableRow {
    /// Which record.
    pub reference: RecordRef,
    /// Its revision, for the outcome.
    pub revision: i32,
    /// Key in whose order it stands, as far as that can be read: later records wait for it.
    pub key: Option<KeyRef>,
    /// What is wrong with it, without its content.
    pub error: String,
}

/// What a read says about transactions that were still open.
///
/// Positions are drawn before they are committed, so a transaction may commit behind a position
/// that was read. The dispatcher moves a lane's floor only past what this says to be settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadMark {
    /// Positions are committed in order: nothing can appear behind what was read (one writer).
    Ordered,
    /// Every transaction with a lower number had ended when this read began.
    Horizon(u64),
    /// Nothing is known: lanes are read from the start.
    Unknown,
}

/// The answer to a read.
#[derive(Clone, Debug)]
pub struct Batch {
    /// First the scheduled and retried records that are due, then those that never waited, both in
    /// order of position within each lane.
    ///
    /// Of the former a budget takes those that are due for longest, whatever their positions, of the
    /// latter the first ones.
    pub records: Vec<OutboxRecord>,
    /// Rows that cannot be decoded.
    pub undecodable: Vec<UndecodableRow>,
    /// Whether the budget cut the answer: more may be there behind the last record of each lane.
    pub truncated: bool,
    /// What is known about open transactions.
    pub mark: ReadMark,
    /// How far lanes were looked at: all that is due up to there is in the answer, known or
    /// withheld. Told only where something was withheld, of the lanes of which the budget left
    /// nothing out; the largest position stands for the end of a lane.
    ///
    /// A store may look at a part of a lane at a time, so that what is withheld costs little.
    pub reached: Vec<(Lane, Position)>,
    /// How far lanes were looked at among the records that waited for an instant, told as `reached` is
    /// and of the same lanes: all that is due behind where the read began and up to there is in the
    /// answer, known or withheld. [`DuePlace::END`] stands for all that is due.
    ///
    /// What stands behind is found by a read that begins there, so that what is withheld, however much
    /// of it is due, costs each read little.
    pub due_reached: Vec<(Lane, DuePlace)>,
}

impl Batch {
    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.undecodable.is_empty()
    }
}
