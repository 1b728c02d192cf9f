//! A record in memory.

use std::time::Duration;

use outbox_core::{
    KeyRef, LeaseToken, OutboxRecord, Outcome, OutcomeKind, Position, RecordRef, UndecodableRow,
};
use tokio::time::Instant;

/// A record that was read under a lease and is queued or in flight.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) record: OutboxRecord,
    /// Token of the lease under which it was read; a record of an older lease is not sent.
    pub(super) token: LeaseToken,
    pub(super) read_at: Instant,
}

impl Held {
    pub(super) const fn reference(&self) -> RecordRef {
        self.record.reference
    }

    pub(super) fn bytes(&self) -> usize {
        self.record.message.size()
    }

    pub(super) fn ticket(&self) -> Ticket {
        Ticket {
            record: self.record.reference,
            token: self.token,
            revision: self.record.revision,
            attempts: self.record.attempts,
            failing_for: self.record.failing_for,
            read_at: self.read_at,
            key: self.record.key(),
        }
    }
}

/// What a read brought in: it takes its turn among the records of its key either way.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all are records")]
pub(super) enum Entry {
    /// A row that cannot be decoded: its turn is to become a dead letter.
    Broken(UndecodableRow, LeaseToken),
    /// A record to be sent.
    Record(Held),
}

impl Entry {
    pub(super) const fn position(&self) -> Position {
        match self {
            Self::Broken(row, _) => row.reference.position,
            Self::Record(held) => held.record.reference.position,
        }
    }

    pub(super) fn key(&self) -> Option<KeyRef> {
        match self {
            Self::Broken(row, _) => row.key.clone(),
            Self::Record(held) => held.record.key(),
        }
    }

    pub(super) fn ticket(&self) -> Ticket {
        match self {
            Self::Broken(row, token) => Ticket::undecodable(row, *token),
            Self::Record(held) => held.ticket(),
        }
    }
}

/// What must be known of a record once its message is on the way.
#[derive(Clone, Debug)]
pub(super) struct Ticket {
    pub(super) record: RecordRef,
    pub(super) token: LeaseToken,
    pub(super) revision: i32,
    pub(super) attempts: u32,
    failing_for: Duration,
    pub(super) read_at: Instant,
    pub(super) key: Option<KeyRef>,
}

impl Ticket {
    /// For a row that cannot be decoded and is never sent.
    pub(super) fn undecodable(row: &UndecodableRow, token: LeaseToken) -> Self {
        Self {
            record: row.reference,
            token,
            revision: row.revision,
            attempts: 0,
            failing_for: Duration::ZERO,
            read_at: Instant::now(),
            key: row.key.clone(),
        }
    }

    /// Time since the first failure; none has passed at the first one, however long it waited.
    pub(super) fn failing_for(&self) -> Duration {
        if self.attempts == 0 {
            return Duration::ZERO;
        }
        self.failing_for + self.read_at.elapsed()
    }

    pub(super) const fn outcome(&self, kind: OutcomeKind) -> Outcome {
        Outcome { record: self.record, token: self.token, revision: self.revision, kind }
    }
}

/// An outcome that is not written yet.
#[derive(Clone, Debug)]
pub(super) struct Unwritten {
    pub(super) outcome: Outcome,
    pub(super) key: Option<KeyRef>,
    /// Until when it may still be written: one lease from the end of the send. A store that takes
    /// no outcome for longer must not keep the record from being sent again.
    pub(super) give_up_at: Instant,
    /// A settlement with it failed or has an unknown ending, so it may be written already.
    pub(super) repeated: bool,
}
