//! What can happen next, and why it cannot.

use std::fmt;

use outbox_core::Position;

use super::claim::Claim;
use super::state::Flight;
use super::tables::{Draft, Outcome};

/// One thing that happens. Workers are numbered from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the fields say which worker, lane or record")]
pub enum Action {
    /// The database sees a worker's read of a lane; the answer is under way.
    BeginRead { worker: u8, lane: u8 },
    /// Somebody who holds no lane claims a record.
    Claim { lane: u8, position: Position },
    /// Whoever claimed a record makes use of the claim.
    Claimed(Claim, ClaimCall),
    /// The application's transaction with this number commits.
    Commit(u64),
    /// A worker dies and is started again with nothing in memory.
    Crash { worker: u8 },
    /// A worker stops in order, without waiting any longer for sends that have begun.
    Drain { worker: u8 },
    /// A worker takes the answer of its read.
    EndRead { worker: u8, lane: u8 },
    /// A worker lets go of a lane whose outcomes the database did not take in time.
    GiveUp { worker: u8, lane: u8 },
    /// An outcome arrives at the database long after it was sent there.
    Late(Outcome),
    /// A worker asks for so many lanes, and for what their owner must know.
    Lease { worker: u8, lanes: u8 },
    /// A worker gives back a lane in which it has nothing under way.
    Release { worker: u8, lane: u8 },
    /// A worker renews its leases and asks what became of failed records.
    Renew { worker: u8 },
    /// The application's transaction with this number rolls back.
    Rollback(u64),
    /// A worker begins to send a record.
    Send { worker: u8, lane: u8, position: Position },
    /// A worker writes the outcomes that it has for a lane.
    Settle { worker: u8, lane: u8, ending: CallEnding },
    /// The application stages a record in a transaction of its own.
    Stage(Draft),
    /// Time passes.
    Tick,
    /// An operator replays the dead head of a key, which frees the key.
    Unpark { key: u8 },
    /// The broker's word on a send.
    Verdict(Flight, Verdict),
}

/// What a claimant does. Unheard answers are calls that are made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClaimCall {
    /// It settles the record as published.
    Complete,
    /// It counts a failed attempt.
    Fail,
    /// It extends the claim.
    Renew,
    /// It sends the record, and the broker takes it.
    Send,
}

/// How a call of the store ended, for its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallEnding {
    /// It took effect and the caller got its answer.
    Answered,
    /// It took effect, unheard by the caller.
    AnswerLost,
    /// It has not taken effect when the caller gives up waiting, and may do so at any later time.
    Delayed,
}

/// What the broker did with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It took the message and said so.
    Accepted,
    /// It took the message, but the sender did not hear of it in time.
    AnswerLost,
    /// It did not take the message, and may the next time.
    Refused,
    /// It will never take this message.
    Rejected,
}

/// Why an action cannot happen in this state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There are things under way in the lane.
    Busy,
    /// The record is under a live claim.
    Claimed,
    /// The record's lane is under a live lease.
    LaneLeased,
    /// The lease or claim does not last long enough for a send.
    LeaseTooShort,
    /// There is no such transaction, send, outcome, record, claim or key.
    Nothing,
    /// No lane is free.
    NothingFree,
    /// The time from which the record may be sent has not come.
    NotDue,
    /// The worker does not believe to hold this lane.
    NotHeld,
    /// An earlier record of the key comes first, or the record is not in memory.
    NotItsTurn,
    /// The claimant has not sent the record.
    NotSent,
    /// The record's key is parked.
    Parked,
    /// A send must end before time passes.
    SendUnderWay,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Busy => "something is under way in the lane",
            Self::Claimed => "the record is claimed",
            Self::LaneLeased => "the lane of the record is leased",
            Self::LeaseTooShort => "the lease or claim does not last long enough",
            Self::NotDue => "the record is not due",
            Self::NotHeld => "the worker holds no such lane",
            Self::NotItsTurn => "it is not the record's turn",
            Self::NotSent => "the claimant has not sent the record",
            Self::Nothing => "there is no such thing",
            Self::NothingFree => "no lane is free",
            Self::Parked => "the key of the record is parked",
            Self::SendUnderWay => "a send must end first",
        })
    }
}

impl std::error::Error for Refusal {}
