//! Counts that say how far they can be trusted.

use outbox_core::{Count, OutboxStats};

#[test]
fn a_count_shows_how_far_it_can_be_trusted() {
    let shown = [Count::Exact(3), Count::AtLeast(3), Count::Estimated(3), Count::Unavailable]
        .map(|count| count.to_string());

    assert_eq!(shown, ["3", "≥3", "~3", "unavailable"]);
}

#[test]
fn only_an_exact_zero_is_empty() {
    assert!(Count::Exact(0).is_empty());
    let others = [Count::Exact(1), Count::AtLeast(0), Count::Estimated(0), Count::Unavailable];
    for count in others {
        assert!(!count.is_empty(), "{count:?}");
    }
}

#[test]
fn a_count_that_stopped_at_its_bound_is_a_lower_limit() {
    assert_eq!(Count::bounded(9, 10), Count::Exact(9));
    assert_eq!(Count::bounded(10, 10), Count::AtLeast(10));
    assert_eq!(Count::bounded(11, 10), Count::AtLeast(10));
}

#[test]
fn an_outbox_of_which_nothing_is_known_is_not_empty() {
    let OutboxStats { ready, scheduled, retrying, parked, dead, .. } = OutboxStats::UNAVAILABLE;

    for count in [ready, scheduled, retrying, parked, dead] {
        assert!(!count.is_empty());
    }
}
