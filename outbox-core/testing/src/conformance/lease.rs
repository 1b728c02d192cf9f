//! Cases about who may send the records of a lane.

use std::collections::HashSet;

use futures_util::future::join_all;
use outbox_core::{Lane, LaneLease, LeaseToken};

use super::fixture::StoreFixture;
use super::outbox::{Outbox, sorted};
use super::sample::{HOUR, SHORT};

/// Lanes that nobody holds are leased, as many as were asked for.
pub async fn free_lanes_are_leased_as_asked(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);

    let leases = outbox.lease(5, HOUR).await;

    assert_eq!(lanes(&leases).len(), 5);
}

/// A lane that is held is not leased, not even by its owner.
pub async fn a_held_lane_is_not_leased(fixture: &dyn StoreFixture) {
    let owner = Outbox::holding_all(fixture).await;
    let other = Outbox::new(fixture);

    let by_other = other.lease(Lane::COUNT, HOUR).await;
    let by_owner = owner.lease(Lane::COUNT, HOUR).await;

    assert_eq!(by_other, []);
    assert_eq!(by_owner, []);
}

/// Fewer lanes than asked for is no error.
pub async fn fewer_lanes_than_asked_for_is_no_error(fixture: &dyn StoreFixture) {
    let first = Outbox::new(fixture).lease(60, HOUR).await;

    let rest = Outbox::new(fixture).lease(10, HOUR).await;
    let none = Outbox::new(fixture).lease(10, HOUR).await;

    assert_eq!(rest.len(), 4);
    assert_eq!(sorted(lanes(&first).union(&lanes(&rest)).copied()).len(), 64);
    assert_eq!(none, []);
}

/// No lane is leased twice at one instant, however many workers ask at once.
pub async fn no_lane_is_leased_twice(fixture: &dyn StoreFixture) {
    let workers: Vec<Outbox<'_>> = (0..6).map(|_| Outbox::new(fixture)).collect();

    let leases = join_all(workers.iter().map(|worker| worker.lease(16, HOUR))).await.concat();

    assert_eq!(leases.len(), lanes(&leases).len(), "a lane has two owners");
}

/// A worker that asks for no lane gets none.
pub async fn a_worker_that_asks_for_no_lane_gets_none(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);

    let leases = outbox.lease(0, HOUR).await;

    assert_eq!(leases, []);
}

/// Each lease has a fresh token that no lease had before.
pub async fn each_lease_has_a_fresh_token(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let first = outbox.lease(Lane::COUNT, HOUR).await;
    outbox.release(&first).await;

    let second = outbox.lease(Lane::COUNT, HOUR).await;

    assert_eq!(second.len(), first.len());
    assert!(tokens(&first).is_disjoint(&tokens(&second)), "a token was used again");
}

/// A lease is live while its end lies ahead: at its end the lane is leased anew.
pub async fn an_expired_lane_is_leased_anew(fixture: &dyn StoreFixture) {
    let gone = Outbox::holding_all_for(fixture, SHORT).await;
    fixture.pass(SHORT).await;

    let leases = Outbox::new(fixture).lease(Lane::COUNT, HOUR).await;

    assert_eq!(lanes(&leases), lanes(&gone.leases));
}

/// What one store leased is held for every other store.
pub async fn a_lease_holds_for_every_store(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    let mut other = Outbox::new(fixture);
    other.store = fixture.reopen().await;

    let taken = other.lease(Lane::COUNT, HOUR).await;
    let renewed = other.renew(&outbox.leases, HOUR).await;

    assert_eq!(taken, []);
    assert_eq!(lanes(&renewed), lanes(&outbox.leases));
}

/// A renewal extends a lease beyond its first end.
pub async fn a_renewed_lease_outlives_its_first_end(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let first_end = SHORT * 5;
    let mut renewed = Vec::new();
    // On a slow machine the lease may end before it is renewed; then it is tried again.
    for _ in 0..20 {
        if renewed.is_empty() {
            let leases = outbox.lease(1, first_end).await;
            renewed = outbox.renew(&leases, HOUR).await;
        }
    }
    assert_eq!(renewed.len(), 1, "no renewal came through");
    fixture.pass(first_end).await;

    let still_held = outbox.renew(&renewed, HOUR).await;

    assert_eq!(still_held, renewed);
}

/// A renewal keeps the token and returns the leases that it extended.
pub async fn a_renewal_keeps_the_token(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;

    let renewed = outbox.renew(&outbox.leases[..3], HOUR).await;

    assert_eq!(
        sorted(renewed.iter().map(|lease| (lease.lane, lease.token))),
        sorted(outbox.leases[..3].iter().map(|lease| (lease.lane, lease.token))),
    );
}

/// A renewal for less time than is left never shortens a lease.
pub async fn a_renewal_never_shortens_a_lease(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.renew(&outbox.leases, SHORT).await;
    fixture.pass(SHORT).await;

    let taken = Outbox::new(fixture).lease(Lane::COUNT, HOUR).await;

    assert_eq!(taken, []);
}

/// A lease that has expired is not renewed, though nobody else took the lane.
pub async fn an_expired_lease_is_not_renewed(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all_for(fixture, SHORT).await;
    fixture.pass(SHORT).await;

    let renewed = outbox.renew(&outbox.leases, HOUR).await;

    assert_eq!(renewed, []);
    assert_eq!(Outbox::new(fixture).lease(Lane::COUNT, HOUR).await.len(), 64);
}

/// A lease whose lane was leased anew is not renewed.
pub async fn a_superseded_lease_is_not_renewed(fixture: &dyn StoreFixture) {
    let gone = Outbox::holding_all_for(fixture, SHORT).await;
    fixture.pass(SHORT).await;
    let current = Outbox::holding_all(fixture).await;

    let renewed = gone.renew(&gone.leases, HOUR).await;

    assert_eq!(renewed, []);
    assert_eq!(current.renew(&current.leases, HOUR).await.len(), 64);
}

/// One lost lease among several does not keep the others from being renewed.
pub async fn a_lost_lease_does_not_spoil_a_renewal(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    let mut leases = outbox.leases[..3].to_vec();
    leases[1].token = LeaseToken::new();

    let renewed = outbox.renew(&leases, HOUR).await;

    assert_eq!(lanes(&renewed), lanes(&[leases[0], leases[2]]));
}

/// A lane that was given back is leased by anyone at once.
pub async fn a_released_lane_is_leased_at_once(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    let given_back = &outbox.leases[10..12];

    outbox.release(given_back).await;

    let taken = Outbox::new(fixture).lease(Lane::COUNT, HOUR).await;
    assert_eq!(lanes(&taken), lanes(given_back));
}

/// Giving back a lease that was lost leaves the new owner alone.
pub async fn releasing_a_lost_lease_leaves_the_new_owner_alone(fixture: &dyn StoreFixture) {
    let gone = Outbox::holding_all_for(fixture, SHORT).await;
    fixture.pass(SHORT).await;
    let current = Outbox::holding_all(fixture).await;

    gone.release(&gone.leases).await;

    assert_eq!(current.renew(&current.leases, HOUR).await.len(), 64);
    assert_eq!(Outbox::new(fixture).lease(Lane::COUNT, HOUR).await, []);
}

/// Giving a lane back again changes nothing.
pub async fn releasing_again_is_harmless(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.release(&outbox.leases).await;
    let current = Outbox::holding_all(fixture).await;

    outbox.release(&outbox.leases).await;

    assert_eq!(current.renew(&current.leases, HOUR).await.len(), 64);
}

/// Every lane that was free for longer than is said is taken on request, beyond what was asked.
pub async fn orphaned_lanes_are_taken_beyond_what_was_asked(fixture: &dyn StoreFixture) {
    Outbox::holding_all_for(fixture, SHORT).await;
    fixture.pass(SHORT * 3).await;
    let outbox = Outbox::new(fixture);
    let mut request = outbox.lease_request(1, HOUR);
    request.orphans = Some(SHORT);

    let taken = outbox.lease_as(&request).await;

    assert_eq!(taken.len(), 64);
}

/// Orphans are left alone by a worker that does not ask for them.
pub async fn orphaned_lanes_are_left_unless_asked_for(fixture: &dyn StoreFixture) {
    Outbox::holding_all_for(fixture, SHORT).await;
    fixture.pass(SHORT * 3).await;

    let taken = Outbox::new(fixture).lease(1, SHORT).await;

    assert_eq!(taken.len(), 1);
}

/// A lane that was never leased is an orphan: a share that nobody collects strands no record.
pub async fn a_lane_that_was_never_leased_is_an_orphan(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let mut request = outbox.lease_request(0, HOUR);
    request.orphans = Some(HOUR);

    let taken = outbox.lease_as(&request).await;

    assert_eq!(taken.len(), 64);
}

/// A lane that became free a moment ago is no orphan.
pub async fn a_lane_that_was_just_freed_is_no_orphan(fixture: &dyn StoreFixture) {
    let former = Outbox::holding_all(fixture).await;
    former.release(&former.leases).await;
    let outbox = Outbox::new(fixture);
    let mut request = outbox.lease_request(3, HOUR);
    request.orphans = Some(HOUR);

    let taken = outbox.lease_as(&request).await;

    assert_eq!(taken.len(), 3);
}

/// A lane that the asker gave up is not among those that it wants.
pub async fn a_lane_that_was_given_up_is_left_for_others(fixture: &dyn StoreFixture) {
    let [first, inner, last] = [0, 7, 63].map(|number| Lane::new(number).unwrap());
    let outbox = Outbox::new(fixture);
    let mut request = outbox.lease_request(64, HOUR);
    request.except = vec![first, inner, last];

    let taken = outbox.lease_as(&request).await;
    let left = Outbox::new(fixture).lease(64, HOUR).await;

    assert_eq!(taken.len(), 61);
    assert_eq!(lanes(&left), HashSet::from([first, inner, last]));
}

/// A lane that the asker gave up and that nobody has collected is an orphan as any other.
pub async fn a_lane_that_was_given_up_may_be_an_orphan(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let mut request = outbox.lease_request(0, HOUR);
    (request.orphans, request.except) = (Some(HOUR), Lane::all().collect());

    let taken = outbox.lease_as(&request).await;

    assert_eq!(taken.len(), 64);
}

fn lanes(leases: &[LaneLease]) -> HashSet<Lane> {
    leases.iter().map(|lease| lease.lane).collect()
}

fn tokens(leases: &[LaneLease]) -> HashSet<LeaseToken> {
    leases.iter().map(|lease| lease.token).collect()
}
