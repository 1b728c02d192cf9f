//! How long a lease lasts.

use std::time::Duration;

use outbox_core::{LeaseTime, StoreErrorKind};

#[test]
fn a_lease_lasts_at_least_a_millisecond() {
    for time in [Duration::ZERO, Duration::from_nanos(999_999)] {
        let error = LeaseTime::new(time).unwrap_err();

        assert_eq!(error.kind(), StoreErrorKind::InvalidArgument);
        let message = "a lease must last at least a millisecond: invalid argument";
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn a_lease_lasts_as_long_as_it_was_told_to() {
    for time in [Duration::from_millis(1), Duration::from_secs(30)] {
        assert_eq!(LeaseTime::new(time).unwrap().duration(), time);
    }
}
