//! Every order of events within bounds.

use outbox_testing::CommitOrder;
use outbox_testing::protocol::Draft;
use stateright::{Checker, Model, Path};

use super::model::Bounds;

pub(super) const ORDERED: Draft = Draft { lane: 0, key: Some(0) };
pub(super) const UNORDERED: Draft = Draft { lane: 0, key: None };

/// Two lifetimes of a lease, so that a worker may sleep, lose its lane to the other and lease it
/// again, while one thing goes wrong: all windows of duplicates open, and no other does.
#[test]
fn two_records_of_a_key_survive_any_one_fault() {
    let drafts = vec![ORDERED, ORDERED];
    let bounds = Bounds { committed: 2, ticks: 4, faults: 1, ..Bounds::of(drafts) };

    check(&bounds, &ALL_SIGHTS);
}

/// A failure and then a hand-over: the new owner must know which keys wait or are parked.
#[test]
fn two_records_of_a_key_survive_any_two_faults_within_a_lease() {
    let drafts = vec![ORDERED, ORDERED];
    let bounds = Bounds { committed: 2, ticks: 1, faults: 2, ..Bounds::of(drafts) };

    check(&bounds, &[DELIVERED, PARKED]);
}

#[test]
fn a_record_survives_any_two_faults() {
    let bounds = Bounds { committed: 1, ticks: 3, faults: 2, ..Bounds::of(vec![ORDERED]) };

    check(&bounds, &[REPEATED.as_slice(), &[SHARED, DELIVERED]].concat());
}

#[test]
fn an_unordered_record_between_two_of_a_key_changes_nothing() {
    let drafts = vec![ORDERED, UNORDERED, ORDERED];
    let bounds = Bounds { committed: 3, ticks: 0, faults: 1, ..Bounds::of(drafts) };

    check(&bounds, &[PARKED, DELIVERED]);
}

/// Positions that are drawn before the commit, with a horizon: the floor trails the cursor.
#[test]
fn late_commits_are_found_in_order_where_transactions_are_numbered() {
    let commits = CommitOrder::Numbered;
    let two = Bounds::of(vec![ORDERED, ORDERED]);

    check(&Bounds { commits, ticks: 1, ..late_commits() }, &[DELIVERED]);
    check(&Bounds { commits, faults: 1, ..late_commits() }, &[DELIVERED, PARKED]);
    check(&Bounds { commits, ticks: 2, ..two }, &[DELIVERED, SHARED]);
}

/// Positions that are drawn before the commit, and nothing is known: every read is from the start.
#[test]
fn late_commits_are_found_in_order_where_nothing_is_known_of_transactions() {
    let commits = CommitOrder::Unknown;

    check(&Bounds { commits, ticks: 2, ..late_commits() }, &[DELIVERED, SHARED]);
    check(&Bounds { commits, faults: 1, ..late_commits() }, &[DELIVERED, PARKED]);
}

const DELIVERED: &str = "all delivered";
const PARKED: &str = "parked";
const SHARED: &str = "two workers hold one lane in memory";
const REPEATED: [&str; 5] = [
    "repeated by AnswerLost",
    "repeated by Crash",
    "repeated by Drain",
    "repeated by Lease",
    "repeated by OutcomeLost",
];
const ALL_SIGHTS: [&str; 8] =
    [REPEATED[0], REPEATED[1], REPEATED[2], REPEATED[3], REPEATED[4], DELIVERED, PARKED, SHARED];

/// Three transactions, committed in any order.
fn late_commits() -> Bounds {
    Bounds::of(vec![ORDERED, UNORDERED, ORDERED])
}

/// Walks through all states: every promise is kept, and these sights are seen.
fn check(bounds: &Bounds, sights: &[&'static str]) {
    let checker = bounds.clone().checker().threads(2).spawn_bfs().join();

    println!(
        "{} states, {} steps: {bounds:?}",
        checker.unique_state_count(),
        checker.state_count()
    );
    for promise in Bounds::promises() {
        let counterexample = checker.discovery(promise.name).map(Path::into_actions);
        assert_eq!(counterexample, None, "{} is broken within {bounds:?}", promise.name);
    }
    for sight in sights {
        assert!(checker.discovery(sight).is_some(), "not seen within {bounds:?}: {sight}");
    }
}
