//! Even shares of the lanes.

use outbox_core::{Fleet, Lane};

#[test]
fn shares_cover_every_lane() {
    for sharing in 1..=100 {
        let share = Fleet { sharing, ..Fleet::default() }.share();

        assert!(u32::from(share) * sharing >= u32::from(Lane::COUNT), "{sharing} workers");
    }
}

#[test]
fn a_share_is_the_lanes_by_the_workers_rounded_up() {
    let share = |sharing| Fleet { sharing, ..Fleet::default() }.share();

    assert_eq!([share(1), share(2), share(3), share(64), share(u32::MAX)], [64, 32, 22, 1, 1]);
}

#[test]
fn the_least_share_is_rounded_down() {
    let least = |sharing| Fleet { sharing, ..Fleet::default() }.least();

    assert_eq!([least(1), least(2), least(3), least(64), least(65)], [64, 32, 21, 1, 0]);
}

#[test]
fn a_worker_that_sees_nobody_takes_all() {
    assert_eq!(Fleet::default().share(), 64);
    assert_eq!(Fleet::default().least(), 64);
}
