//! What errors and contexts show.

use std::error::Error;

use outbox_core::{StoreError, StoreErrorKind};

use crate::sample::request;

#[test]
fn a_store_error_says_what_was_done_and_what_is_wrong() {
    let error = StoreError::new(StoreErrorKind::Unavailable, "settle");

    assert_eq!(error.to_string(), "settle: the database did not answer");
    assert!(error.source().is_none());
}

#[test]
fn the_cause_of_a_store_error_is_its_source_and_is_said_once() {
    let error = StoreError::new(StoreErrorKind::Conflict, "lease").with_source("deadlock");

    assert_eq!(error.source().unwrap().to_string(), "deadlock");
    assert!(!error.to_string().contains("deadlock"));
}

#[test]
fn debug_of_a_context_shows_no_header_value() {
    let mut context = request();
    context.headers.push("authorization", "t0ken");

    let shown = format!("{context:?}");

    assert!(shown.contains("request-17") && shown.contains("authorization"), "{shown}");
    assert!(!shown.contains("t0ken"), "{shown}");
}
