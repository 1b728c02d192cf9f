//! Errors of encoding and of stores.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::unsendable::Unsendable;

type Source = Box<dyn Error + Send + Sync>;

/// An event that cannot be turned into a message, or whose message cannot be stored or sent.
///
/// Nothing was staged. It quotes no value of the event.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// A record of a format that this version does not write.
    #[error("event {event_type} has format {format}, and this version writes format {current}")]
    Format {
        /// Wire name of the event.
        event_type: Arc<str>,
        /// The format that it has.
        format: i16,
        /// The format that it must have.
        current: i16,
    },
    /// An instant that not every database and consumer can write.
    #[error("{what} of event {event_type} is not in the years 1000 to 9999")]
    Instant {
        /// Wire name of the event.
        event_type: Arc<str>,
        /// Which instant.
        what: &'static str,
    },
    /// A message with two keys.
    #[error("ordering key of event {event_type} must be its partition key, or absent")]
    KeyDiffers {
        /// Wire name of the event.
        event_type: Arc<str>,
    },
    /// An ordered event without a key.
    #[error(
        "event {event_type} is ordered but has no key: set `key` to what orders it, or drop `ordered`"
    )]
    KeyMissing {
        /// Wire name of the event.
        event_type: &'static str,
    },
    /// A name that a broker would refuse.
    #[error("{what} must be 1 to {longest} letters, digits or . _ - (a topic also : and /)")]
    Name {
        /// Which name.
        what: &'static str,
        /// Its longest length.
        longest: usize,
    },
    /// The payload does not serialize.
    #[error("payload of event {event_type} does not serialize to {format}")]
    Payload {
        /// Wire name of the event.
        event_type: &'static str,
        /// Which form it has none of: `JSON`, or the media type of another codec.
        format: &'static str,
        /// What the codec said.
        source: Source,
    },
    /// A text that not every database can store.
    #[error("{what} of event {event_type} {fault}")]
    Text {
        /// Wire name of the event.
        event_type: Arc<str>,
        /// Which text.
        what: String,
        /// What is wrong with it.
        fault: TextFault,
    },
    /// The destination would refuse or lose the message.
    #[error("event {event_type} cannot be sent to topic {topic}: {reason}")]
    Unsendable {
        /// Wire name of the event.
        event_type: Arc<str>,
        /// Topic of the event.
        topic: Arc<str>,
        /// Why.
        reason: Unsendable,
    },
}

/// Why a text cannot be stored in every database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TextFault {
    /// It has no character.
    #[error("is empty: give it a text")]
    Empty,
    /// It has a NUL character, which PostgreSQL has no text with.
    #[error("holds a NUL character, which no text of a database may: remove it from the event")]
    Nul,
    /// It has too many bytes.
    #[error("is {bytes} bytes long, and the longest is {longest}: shorten it, or use its hash")]
    TooLong {
        /// How many it has.
        bytes: usize,
        /// How many it may have.
        longest: usize,
    },
}

/// What kind of trouble a store has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// Another transaction was in the way; the call may be repeated.
    Conflict,
    /// The stored data is not what this version can read, or the database refuses what a call would
    /// write.
    Corrupt,
    /// The caller's mistake, found before any statement.
    InvalidArgument,
    /// The role may not do this.
    PermissionDenied,
    /// The server takes no writes.
    ReadOnly,
    /// The database refuses the call for a reason that lies neither in its data nor in the list here,
    /// such as a statement that a proxy or a changed table made invalid; nothing took effect.
    Refused,
    /// Tables are missing or of another shape.
    SchemaMissing,
    /// The database did not answer. A write may have happened.
    Unavailable,
}

impl StoreErrorKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Conflict => "another transaction was in the way",
            Self::Corrupt => "stored data cannot be read",
            Self::InvalidArgument => "invalid argument",
            Self::PermissionDenied => "the database role lacks a permission",
            Self::ReadOnly => "the database is read-only",
            Self::Refused => "the database refused the statement",
            Self::SchemaMissing => "outbox tables are missing or outdated",
            Self::Unavailable => "the database did not answer",
        }
    }
}

impl fmt::Display for StoreErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A failed call of a store.
#[derive(Debug)]
pub struct StoreError {
    kind: StoreErrorKind,
    context: &'static str,
    source: Option<Source>,
}

impl StoreError {
    /// An error of this kind in this operation, or with this explanation.
    pub const fn new(kind: StoreErrorKind, context: &'static str) -> Self {
        Self { kind, context, source: None }
    }

    /// Adds the cause.
    pub fn with_source(mut self, source: impl Into<Source>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What kind of trouble.
    pub const fn kind(&self) -> StoreErrorKind {
        self.kind
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.context, self.kind)
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}
