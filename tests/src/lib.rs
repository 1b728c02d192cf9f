//! What the tests and benchmarks of all crates together stand on.
//!
//! [`shop`] is an application: an order table whose saves stage events. [`store`] is the real store
//! on a test's database. [`process`] starts the real binaries, and kills them.

#![expect(clippy::expect_used, reason = "a test whose surroundings are missing must fail")]
#![expect(clippy::missing_panics_doc, reason = "every function panics when a test cannot go on")]

/// The code of the README, which must compile.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

mod output;
pub mod process;
pub mod shop;
pub mod store;
mod worker;

pub use output::Output;
