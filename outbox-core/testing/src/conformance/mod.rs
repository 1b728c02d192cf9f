//! What every store of the outbox keeps to, as one test per promise.
//!
//! A case is a free async function that takes a [`StoreFixture`] and panics if the promise is
//! broken. [`store_conformance!`](crate::store_conformance) turns all of them into tests:
//!
//! ```text
//! // tests/it/my_store.rs: `MyFixture` opens the store on an outbox of its own.
//! outbox_testing::store_conformance!(MyFixture::open().await);
//! ```
//!
//! A store that has [`RecordClaims`](outbox_core::RecordClaims) too is tested by
//! [`record_claims_conformance!`](crate::record_claims_conformance), with a [`ClaimsFixture`].
//!
//! A store that can go by a supplied [`Clock`](outbox_core::Clock) is tested at the very instants at
//! which leases and claims end and records become due, by
//! [`clock_conformance!`](crate::clock_conformance) and
//! [`claims_clock_conformance!`](crate::claims_clock_conformance).
//!
//! No case measures time by itself. A lease that must have expired is short, and the fixture is
//! asked to let that time pass; whatever must still hold lasts for an hour.

pub mod claim;
pub mod claim_end;
pub mod claim_lane;
pub mod clock;
pub mod clock_claim;
pub mod crash_loop;
pub mod dead_letter;
pub mod fencing;
pub mod fleet;
pub mod invalid;
pub mod lease;
pub mod order;
pub mod park;
pub mod read;
pub mod retry;
pub mod schedule;
pub mod settle;
pub mod stats;
pub mod withhold;

mod cases;
mod claimant;
mod fixture;
mod outbox;
mod sample;

pub use fixture::{ClaimsFixture, OpenWriter, StoreFixture, StoredDeadLetter};
