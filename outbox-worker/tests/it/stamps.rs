//! How far a lane is decided by the stamps that were kept.

use outbox_core::Position;

#[path = "../../src/dispatcher/lane_window/stamps.rs"]
mod inner;

use inner::Stamps;

const MANY: i64 = 10_000;

/// Stamp 100 says that the lane was read up to position 1,000, and so on.
fn many() -> Stamps {
    let mut stamps = Stamps::default();
    for number in 1..=MANY {
        stamps.add(number.unsigned_abs(), Position(number * 10));
    }
    stamps
}

/// What is decided as one transaction after the other ends.
fn steps(stamps: &mut Stamps) -> Vec<(i64, Position)> {
    let end = Position(i64::MAX);
    let step = |number: i64| Some((number, stamps.decided_below(number.unsigned_abs(), end)?));
    (1..=MANY).filter_map(step).collect()
}

/// A transaction that is open for hours must not fill the memory.
#[test]
fn no_more_than_64_stamps_are_kept() {
    let steps = steps(&mut many());

    assert!(steps.len() <= 64, "{} stamps", steps.len());
}

/// A stamp beyond the horizon would let a late commit be passed.
#[test]
fn nothing_is_decided_that_a_stamp_did_not_say() {
    let steps = steps(&mut many());

    assert!(steps.iter().all(|(number, decided)| *decided == Position(number * 10)), "{steps:?}");
}

#[test]
fn the_last_stamp_decides_once_every_transaction_has_ended() {
    let decided = many().decided_below(u64::MAX, Position(i64::MAX));

    assert_eq!(decided, Some(Position(MANY * 10)));
}
