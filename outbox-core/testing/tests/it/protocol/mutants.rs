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
        // The settlement of a failure is not heard of and repeated.
        Mutant::CountTwice => (Bounds { faults: 2, ..one }, "AttemptsCountOnce"),
        Mutant::CursorWithoutFloor => {
            let late = Bounds::of(vec![ORDERED, UNORDERED, ORDERED]);
            (Bounds { commits: CommitOrder::Numbered, ..late }, "KeyOrder")
        }
        Mutant::ExpiryIgnored => (one, "OneLiveLease"),
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
        Mutant::SettleBeforeSend => (Bounds { faults: 1, ..one }, "NothingLost"),
    }
}
