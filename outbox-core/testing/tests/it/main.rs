//! Tests of the test support itself.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what a test sets up must succeed"
)]

mod contract;
mod memory_clock;
mod memory_conformance;
mod memory_publisher;
mod memory_soon;
mod memory_store;
mod memory_suite;
mod protocol;
mod sns;
