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

    check(&bounds, 90_000, &ALL_SIGHTS);
}

/// A failure and then a hand-over: the new owner must know which keys wait or are parked.
#[test]
fn two_records_of_a_key_survive_any_two_faults_within_a_lease() {
    let drafts = vec![ORDERED, ORDERED];
    let bounds = Bounds { committed: 2, ticks: 1, faults: 2, ..Bounds::of(drafts) };

    check(&bounds, 15_000, &[DELIVERED, PARKED]);
}

#[test]
fn a_record_survives_any_two_faults() {
    let bounds = Bounds { committed: 1, ticks: 3, faults: 2, ..Bounds::of(vec![ORDERED]) };

    check(&bounds, 45_000, &[REPEATED.as_slice(), &[SHARED, DELIVERED]].concat());
}

#[test]
fn an_unordered_record_between_two_of_a_key_changes_nothing() {
    let drafts = vec![ORDERED, UNORDERED, ORDERED];
    let bounds = Bounds { committed: 3, ticks: 0, faults: 1, ..Bounds::of(drafts) };

    check(&bounds, 2_900, &[PARKED, DELIVERED]);
}

/// Positions that are drawn before the commit, with a horizon: the floor trails the cursor.
#[test]
fn late_commits_are_found_in_order_where_transactions_are_numbered() {
    let commits = CommitOrder::Numbered;
    let two = Bounds::of(vec![ORDERED, ORDERED]);

    check(&Bounds { commits, ticks: 1, ..late_commits() }, 4_700, &[DELIVERED]);
    check(&Bounds { commits, faults: 1, ..late_commits() }, 59_000, &[DELIVERED, PARKED]);
    check(&Bounds { commits, ticks: 2, ..two }, 3_600, &[DELIVERED, SHARED]);
}

/// Positions that are drawn before the commit, and nothing is known: every read is from the start.
#[test]
fn late_commits_are_found_in_order_where_nothing_is_known_of_transactions() {
    let commits = CommitOrder::Unknown;

    check(&Bounds { commits, ticks: 2, ..late_commits() }, 18_000, &[DELIVERED, SHARED]);
    check(&Bounds { commits, faults: 1, ..late_commits() }, 19_000, &[DELIVERED, PARKED]);
}

/// A claim runs out, is renewed, fails or comes back late, while the lane is leased beside it.
#[test]
fn a_claimed_record_survives_any_one_fault() {
    let one = Bounds { committed: 1, claims: 1, ..Bounds::of(vec![ORDERED]) };

    check(
        &Bounds { ticks: 3, faults: 1, ..one },
        30_000,
        &[CLAIMED, COMPLETED, DELIVERED, REPEATED[3]],
    );
}

/// The second claim begins when the first one is over, has failed, or beside a lease that ran out.
#[test]
fn a_record_survives_two_claims() {
    let one = Bounds { committed: 1, claims: 2, ..Bounds::of(vec![ORDERED]) };

    check(&Bounds { ticks: 3, ..one }, 6_500, &[CLAIMED, COMPLETED, DELIVERED, REPEATED[3]]);
}

/// The owner's records keep their order whatever the claimant of one of them does.
#[test]
fn a_claim_on_one_of_two_records_of_a_key_changes_no_order() {
    let two = Bounds { committed: 2, claims: 1, ..Bounds::of(vec![ORDERED, ORDERED]) };

    check(&Bounds { ticks: 2, ..two.clone() }, 6_400, &[CLAIMED, COMPLETED, DELIVERED]);
    check(&Bounds { faults: 1, ..two }, 2_200, &[CLAIMED, COMPLETED, DELIVERED, PARKED]);
}

#[test]
fn a_late_commit_is_found_in_order_beside_a_claim() {
    let two = Bounds { committed: 1, claims: 1, ..Bounds::of(vec![ORDERED, ORDERED]) };
    let bounds = Bounds { commits: CommitOrder::Numbered, ticks: 2, ..two };

    check(&bounds, 15_000, &[CLAIMED, COMPLETED, DELIVERED]);
}

/// The operator comes at any moment: between a read and its answer, or before an owner's move.
#[test]
fn a_freed_key_goes_on_from_its_dead_head() {
    let two = Bounds { committed: 2, unparks: 1, ..Bounds::of(vec![ORDERED, ORDERED]) };
    let three = Bounds { committed: 2, unparks: 1, ..Bounds::of(vec![ORDERED, ORDERED, ORDERED]) };

    check(&Bounds { ticks: 2, faults: 1, ..two.clone() }, 7_600, &[FREED, PARKED]);
    check(&Bounds { faults: 2, ..two }, 4_600, &[FREED, PARKED]);
    check(&Bounds { faults: 1, ..three }, 1_800, &[FREED, PARKED]);
}

/// What was said of the dead head may arrive when it is back.
#[test]
fn a_freed_head_is_another_than_it_was() {
    let one = Bounds { committed: 1, ..Bounds::of(vec![ORDERED]) };

    check(&Bounds { unparks: 2, faults: 3, ..one }, 4_400, &[FREED]);
}

/// Neither is a record of the key passed that others hold by a claim, nor one that failed under it.
#[test]
fn a_freed_key_waits_for_a_claimed_record() {
    let three = Bounds { committed: 3, ..Bounds::of(vec![ORDERED, ORDERED, ORDERED]) };

    check(&Bounds { claims: 1, unparks: 1, faults: 1, ..three }, 9_800, &[CLAIMED, FREED, PARKED]);
}

const CLAIMED: &str = "claimed in a leased lane";
const COMPLETED: &str = "completed by a claim";
const DELIVERED: &str = "all delivered";
const FREED: &str = "freed and delivered";
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

/// Walks through all states, at least so many: every promise is kept, and these sights are seen.
fn check(bounds: &Bounds, states: usize, sights: &[&'static str]) {
    let checker = bounds.clone().checker().threads(2).spawn_bfs().join();

    println!(
        "{} states, {} steps: {bounds:?}",
        checker.unique_state_count(),
        checker.state_count()
    );
    assert!(checker.unique_state_count() >= states, "less was looked at within {bounds:?}");
    for promise in Bounds::promises() {
        let counterexample = checker.discovery(promise.name).map(Path::into_actions);
        assert_eq!(counterexample, None, "{} is broken within {bounds:?}", promise.name);
    }
    for sight in sights {
        assert!(checker.discovery(sight).is_some(), "not seen within {bounds:?}: {sight}");
    }
}
