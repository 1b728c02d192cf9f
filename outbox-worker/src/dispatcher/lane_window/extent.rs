//! How much of a lane an answer is about.

use outbox_core::{DuePlace, Position};

/// How much of what never waited an answer is about.
#[derive(Clone, Copy, Debug)]
pub(in crate::dispatcher) enum Extent {
    /// All of it.
    All,
    /// All up to this position.
    Reached(Position),
    /// All up to its last record.
    ToLast,
}

impl Extent {
    /// Whether nothing lies behind it, of a read that began here.
    pub(super) fn goes_to_the_end(self, from: Position) -> bool {
        match self {
            Self::All => true,
            // A look that gets nowhere has nothing before it.
            Self::Reached(reached) => reached <= from || reached == Position(i64::MAX),
            Self::ToLast => false,
        }
    }
}

/// How much of what waited for an instant an answer is about.
#[derive(Clone, Copy, Debug)]
pub(in crate::dispatcher) enum DueExtent {
    /// All of it.
    All,
    /// All of it if a record of the answer never waited: those come behind.
    BeforeNew,
    /// All behind the place where the read went on, up to this one if that is told.
    Reached(Option<DuePlace>),
}

/// How much of a lane an answer is about.
#[derive(Clone, Copy, Debug)]
pub(in crate::dispatcher) struct Look {
    /// Of what never waited.
    pub(in crate::dispatcher) new: Extent,
    pub(in crate::dispatcher) due: DueExtent,
}
