//! A stored message with its bookkeeping.

use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::id::EventId;
use crate::lane::Lane;
use crate::message::OutboxMessage;

/// Place of a record in the outbox, never used twice.
///
/// Positions grow in the order of the inserts, which is not the order of the commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position(pub i64);

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Which record: its identity and the place where it is found.
///
/// An event id may stand in several records (`with_id` after a commit of unknown outcome), a lane
/// and position only in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecordRef {
    /// Identity of the event.
    pub id: EventId,
    /// Lane of the record.
    pub lane: Lane,
    /// Position of the record.
    pub position: Position,
}

/// An ordering key with the topic that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyRef {
    /// Topic of the key.
    pub topic: Arc<str>,
    /// The ordering key.
    pub key: String,
}

/// A message and what has become of it so far.
#[derive(Clone, Debug, PartialEq)]
pub struct OutboxRecord {
    /// Which record.
    pub reference: RecordRef,
    /// Raised by every settlement that keeps the record; an outcome must name it.
    pub revision: i32,
    /// Recorded failures.
    pub attempts: u32,
    /// When it becomes due; `None` is at once.
    pub available_at: Option<DateTime<Utc>>,
    /// When the first failure was recorded, by the database's clock.
    pub first_failed_at: Option<DateTime<Utc>>,
    /// Time from the first failure to the read, by the database's clock.
    pub failing_for: std::time::Duration,
    /// Summary of the last failure.
    pub last_error: Option<String>,
    /// The message.
    pub message: OutboxMessage,
}

impl OutboxRecord {
    /// A record that was never tried.
    pub const fn new(reference: RecordRef, message: OutboxMessage) -> Self {
        Self {
            reference,
            revision: 0,
            attempts: 0,
            available_at: None,
            first_failed_at: None,
            failing_for: std::time::Duration::ZERO,
            last_error: None,
            message,
        }
    }

    /// Key in whose order the record is sent, if any.
    pub fn key(&self) -> Option<KeyRef> {
        let key = self.message.ordering_key.clone()?;
        Some(KeyRef { topic: Arc::clone(&self.message.topic), key })
    }
}
