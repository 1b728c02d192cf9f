//! Each mistake in the protocol is found.

use outbox_testing::CommitOrder;
use outbox_testing::protocol::{Action, Mutant};
use stateright::{Checker, HasDiscoveries, Model, Path};

use super::exhaustive::{ORDERED, UNORDERED};
use super::model::Bounds;

#[test]
fn each_mistake_breaks_its_promise() {
    for mutant in Mutant::ALL {
        let (bounds, promise) = where_it_shows(mutant);
        let bounds = Bounds { mutant: Some(mutant), ..bounds };

        let counterexample = (1..30).find_map(|depth| counterexample(&bounds, promise, depth));

        let Some(counterexample) = counterexample else {
            panic!("{mutant:?} does not break {promise}")
        };
        println!("{mutant:?} breaks {promise}: {counterexample:#?}");
    }
}

/// So that it is the mistake which breaks the promise, and not the bounds.
#[test]
fn without_the_mistake_the_same_bounds_keep_every_promise() {
    for mutant in Mutant::ALL {
        let (bounds, _) = where_it_shows(mutant);

        let checker = bounds.checker().threads(2).spawn_bfs().join();

        for promise in Bounds::promises() {
            let counterexample = checker.discovery(promise.name).map(Path::into_actions);
            assert_eq!(counterexample, None, "{} in the bounds of {mutant:?}", promise.name);
        }
    }
}

/// The store's own check, which an owner that is told of claims never meets.
#[test]
fn a_store_settles_no_claimed_record_for_an_owner_that_was_not_told() {
    let (bounds, _) = where_it_shows(Mutant::ClaimedSettled);
    let untold = Bounds { mutant: Some(Mutant::ClaimsUntold), ..bounds };

    // Such an owner sends the record for ever; deep enough for one that is refused, and once more.
    let checker = untold.checker().target_max_depth(12).spawn_bfs().join();

    let counterexample = checker.discovery("ClaimedRecordIsNotSettled").map(Path::into_actions);
    assert_eq!(counterexample, None);
    assert!(checker.discovery("ClaimedRecordIsNotSent").is_some(), "it was told");
}

/// A shortest one is found by walking a little further each time.
fn counterexample(bounds: &Bounds, promise: &'static str, depth: usize) -> Option<Vec<Action>> {
    let found = HasDiscoveries::AnyOf([promise].into());
    let checker = bounds.clone().checker().target_max_depth(depth).finish_when(found);
    checker.spawn_bfs().join().discovery(promise).map(Path::into_actions)
}

/// The least that a mistake needs, and the promise that it breaks then.
fn where_it_shows(mutant: Mutant) -> (Bounds, &'static str) {
    let one = Bounds { committed: 1, ..Bounds::of(vec![ORDERED]) };
    let two = Bounds { committed: 2, ..Bounds::of(vec![ORDERED, ORDERED]) };
    match mutant {
        Mutant::ClaimBesideLease => (Bounds { claims: 1, ..one }, "ClaimExcludesOthers"),
        Mutant::ClaimedSettled => (Bounds { claims: 1, ..one }, "ClaimedRecordIsNotSettled"),
        Mutant::ClaimsUntold => (Bounds { claims: 1, ..one }, "ClaimedRecordIsNotSent"),
        // The settlement of a failure is not heard of and repeated.
        Mutant::CountTwice => (Bounds { faults: 2, ..one }, "AttemptsCountOnce"),
        Mutant::CursorWithoutFloor => {
            let late = Bounds::of(vec![ORDERED, UNORDERED, ORDERED]);
            (Bounds { commits: CommitOrder::Numbered, ..late }, "KeyOrder")
        }
        Mutant::ExpiryIgnored => (one, "OneLiveLease"),
        Mutant::FloorKept => (Bounds { faults: 1, unparks: 1, ..two }, "NothingLost"),
        Mutant::LateSuccessAccepted => {
            (Bounds { faults: 1, ..one }, "EarlierAttemptChangesNothing")
        }
        Mutant::NoFence | Mutant::TokenReused => {
            (Bounds { ticks: 2, ..one }, "StaleTokenChangesNothing")
        }
        Mutant::NoPark => (Bounds { faults: 1, ..two }, "DeadHeadParksItsKey"),
        Mutant::NoSendCheck => (Bounds { ticks: 2, ..one }, "NamedWindowsOnly"),
        Mutant::NoTombstone => {
            (Bounds { commits: CommitOrder::Unknown, ..one }, "NamedWindowsOnly")
        }
        Mutant::OldAnswerTaken => (Bounds { faults: 1, unparks: 1, ..two }, "FreedGoInOrder"),
        // A settlement as dead is repeated, and the first one comes when the head is back.
        Mutant::RevisionKept => {
            (Bounds { faults: 2, unparks: 1, ..one }, "EarlierAttemptChangesNothing")
        }
        Mutant::StaleClaimTaken => {
            (Bounds { claims: 1, ticks: 2, ..one }, "StaleClaimChangesNothing")
        }
        Mutant::SettleBeforeSend => (Bounds { faults: 1, ..one }, "NothingLost"),
    }
}
