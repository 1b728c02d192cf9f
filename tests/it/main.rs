//! Where the crates meet.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod architecture;
mod bad_input;
mod conformance;
mod crash;
mod key_order;
