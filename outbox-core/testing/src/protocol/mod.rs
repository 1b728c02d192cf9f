//! The dispatch protocol as a pure function, small enough to be checked in every order of events.
//!
//! A [`State`] is the whole system at one moment: the tables, what each worker believes, the
//! messages on their way to the broker, the claims that somebody remembers and the outcomes that the
//! network still holds. [`step`] takes one [`Action`] and returns the state that follows, or says why
//! that cannot happen now.
//!
//! # What it leaves out
//!
//! - **Content.** A record is a position, a lane and perhaps an ordering key.
//! - **Size.** A read has no budget, so it is never cut to a prefix, and a worker has room for all.
//! - **Time** comes in ticks. A lease lasts [`LEASE`] of them, a send at most [`PUBLISH`], a record
//!   that failed waits [`RETRY`]. A worker may stand still at any moment but one: a send that has
//!   begun ends in time. A process that stops between its send check and its send is not in here.
//! - **Calls of the store** happen at one moment. Their answer may get lost, and a settlement may be
//!   delayed beyond any lease. The deadline that a worker counts is the store's, not an earlier one.
//! - **One settlement holds one lane.** A settlement of several lanes is several of these.
//! - **Sending.** Of the records of a key that were read the earliest goes first; the dispatcher may
//!   have queued a later one already when a late commit shows an earlier one.
//! - **Claims** of single records last as long as a lease. Their claimants come and go, and are honest:
//!   one settles a record as published only after the broker took it, which happens at one moment.
//! - **Operators** replay dead heads. They discard nothing.
//! - **Failures** are refusals of one message, transient trouble and lost answers; the retry policy
//!   is [`ATTEMPTS`] attempts. Throttling and pauses of topics touch no row and are left out, as are
//!   scheduled and undecodable records, sharing of lanes and statistics.
//!
//! # Why [`MemoryStore`](crate::MemoryStore) is not a shell around it
//!
//! The store in memory keeps whole messages, cuts reads by budget, skips newer formats and counts a
//! fleet; a dispatcher and the conformance suite need all of that. The model must be finite and
//! cheap to hash, so it has none of it. One made of the other would be a third thing to read. They
//! are two, and a random test takes the same steps in both and compares what can be seen after each.

mod action;
mod claim;
mod mutant;
mod settle;
mod state;
mod tables;
mod window;
mod worker;

pub use action::{Action, CallEnding, ClaimCall, Refusal, Verdict};
pub use claim::{Claim, ClaimRow, Claimant};
pub use mutant::Mutant;
pub use state::{Flight, State, step};
pub use tables::{Draft, Ending, Holder, Mark, Open, Outcome, Row, Slot, Tables};
pub use window::{Known, Progress, Reading, Window};
pub use worker::Worker;

/// How many ticks a lease or a claim lasts without renewal.
pub const LEASE: u8 = 2;
/// Within how many ticks a send that has begun ends.
pub const PUBLISH: u8 = 1;
/// After how many ticks a record that failed is due again.
pub const RETRY: u8 = 1;
/// After how many attempts a record is dead.
pub const ATTEMPTS: u8 = 2;
