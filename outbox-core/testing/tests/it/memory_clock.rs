//! The clock that a test moves.

use std::time::Duration;

use outbox_testing::ManualClock;

#[test]
fn a_manual_clock_stands_still_until_it_is_moved() {
    let clock = ManualClock::new();
    let start = clock.now();

    clock.advance(Duration::from_micros(1_500));

    assert_eq!(start.to_rfc3339(), "2026-01-01T00:00:00+00:00");
    assert_eq!(clock.now() - start, chrono::TimeDelta::microseconds(1_500));
}

#[test]
fn clones_of_a_clock_show_the_same_time() {
    let clock = ManualClock::new();
    let clone = clock.clone();

    clone.advance(Duration::from_secs(1));

    assert_eq!(clock.now(), clone.now());
    assert_ne!(clock.now(), ManualClock::new().now());
}

#[test]
fn a_clock_stops_at_the_end_of_the_calendar() {
    let clock = ManualClock::new();

    clock.advance(Duration::MAX);

    assert_eq!(clock.now(), chrono::DateTime::<chrono::Utc>::MAX_UTC);
}
