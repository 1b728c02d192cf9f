//! The derive as its users see it.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong must stop at once")]

mod codecs;
mod enums;
mod generics;
mod lints;
mod resolution;
mod structs;
mod ui;
