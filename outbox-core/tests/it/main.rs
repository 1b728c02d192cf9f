//! The words of an outbox, as applications, stores and dispatchers use them.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that goes wrong must stop at once")]

mod envelope;
mod error;
mod failure;
mod fleet;
mod headers;
mod id;
mod lane;
mod lease;
mod message;
mod profile;
mod profile_agreement;
mod record;
mod retry;
mod sample;
mod settings;
mod stats;
mod storable;
mod tables;
