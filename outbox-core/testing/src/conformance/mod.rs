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
//! No case measures time by itself. A lease that must have expired is short, and the fixture is
//! asked to let that time pass; whatever must still hold lasts for an hour.

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
mod fixture;
mod outbox;
mod sample;

pub use fixture::{OpenWriter, StoreFixture, StoredDeadLetter};
