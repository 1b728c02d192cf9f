//! Leasing, renewing and giving back lanes.

use std::collections::HashSet;
use std::time::Duration;

use outbox_core::{LaneLease, LeaseRequest, LeaseToken, OutboxStore};

use crate::database::TestDatabase;
use crate::on_all;
use crate::store_fixture::{HOUR, LEASE, Outbox, SECOND, lasting};

on_all!(store_lease:
    a_lane_is_free_again_at_the_instant_its_lease_ends,
    a_lane_that_was_given_back_can_be_leased_at_once,
    a_lease_of_a_lane_that_was_leased_anew_is_neither_renewed_nor_released,
    a_release_leaves_the_instant_from_which_the_lane_is_free,
    a_renewal_keeps_the_token_and_never_shortens,
    an_expired_lease_is_neither_renewed_nor_released,
    each_lease_has_a_fresh_token,
    fewer_lanes_than_asked_for_is_no_error,
    lanes_come_in_order_and_no_more_than_asked_for,
    many_workers_at_once_never_lease_a_lane_twice,
    nothing_to_renew_or_release_or_know_is_answered_with_nothing,
    orphans_are_lanes_free_for_longer_than_a_lease_beyond_the_count,
    renewals_are_answered_in_the_order_of_the_request,
);

fn lanes(leases: &[LaneLease]) -> Vec<u8> {
    leases.iter().map(|lease| lease.lane.number()).collect()
}

async fn expiry(outbox: &Outbox, lane: u8) -> i64 {
    let micros = if outbox.is_postgres() {
        "(extract(epoch FROM expires_at) * 1000000)::bigint"
    } else if outbox.is_mariadb() {
        "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', expires_at)"
    } else {
        "expires_at"
    };
    outbox.value(&format!("SELECT {micros} FROM outbox_lane WHERE lane = {lane}")).await
}

async fn lanes_come_in_order_and_no_more_than_asked_for(database: TestDatabase) {
    let outbox = Outbox::new(database);

    let first = outbox.lease(3).await;
    let second = outbox.other_worker().lease(2).await;

    assert_eq!(lanes(&first), [0, 1, 2]);
    assert_eq!(lanes(&second), [3, 4]);
}

async fn each_lease_has_a_fresh_token(database: TestDatabase) {
    let outbox = Outbox::new(database);

    let first = outbox.lease(64).await;
    outbox.store.release(&first).await.unwrap();
    let second = outbox.lease(64).await;

    let tokens: HashSet<LeaseToken> = first.iter().chain(&second).map(|it| it.token).collect();
    assert_eq!(tokens.len(), 128);
}

async fn fewer_lanes_than_asked_for_is_no_error(database: TestDatabase) {
    let outbox = Outbox::new(database);
    outbox.lease(60).await;

    let rest = outbox.other_worker().lease(10).await;
    let none = outbox.other_worker().lease(10).await;

    assert_eq!(lanes(&rest), [60, 61, 62, 63]);
    assert_eq!(none, []);
}

async fn many_workers_at_once_never_lease_a_lane_twice(database: TestDatabase) {
    let outbox = Outbox::new(database);

    let workers = (0..4).map(|_| {
        let worker = outbox.other_worker();
        async move { worker.lease(20).await }
    });
    let leased = futures_util::future::join_all(workers).await;

    let mut lanes: Vec<u8> = leased.iter().flat_map(|leases| lanes(leases)).collect();
    let count = lanes.len();
    lanes.sort_unstable();
    lanes.dedup();
    assert_eq!(lanes.len(), count);
    assert_eq!(outbox.lease(64).await.len() + count, 64);
}

async fn a_lane_is_free_again_at_the_instant_its_lease_ends(database: TestDatabase) {
    let outbox = Outbox::new(database);
    outbox.lease(64).await;
    outbox.set_lane(7, "expires_at", Some(0)).await;

    let taken = outbox.other_worker().lease(64).await;

    assert_eq!(lanes(&taken), [7]);
}

async fn a_lane_that_was_given_back_can_be_leased_at_once(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(64).await;

    outbox.store.release(&leases[5..7]).await.unwrap();
    let taken = outbox.other_worker().lease(64).await;

    assert_eq!(lanes(&taken), [5, 6]);
}

async fn a_release_leaves_the_instant_from_which_the_lane_is_free(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let leased_until = expiry(&outbox, 0).await;

    outbox.store.release(&leases).await.unwrap();

    let free_since = expiry(&outbox, 0).await;
    let lease = i64::try_from(LEASE.as_micros()).unwrap();
    assert!(free_since < leased_until - lease + HOUR / 60, "{free_since} {leased_until}");
    let held: i64 = outbox
        .value("SELECT count(*) FROM outbox_lane WHERE token IS NOT NULL OR owner IS NOT NULL")
        .await;
    assert_eq!(held, 0);
}

async fn a_renewal_keeps_the_token_and_never_shortens(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(2).await;
    let before = expiry(&outbox, 0).await;

    let shorter = outbox.store.renew(&leases, lasting(Duration::from_secs(1))).await.unwrap();
    let kept = expiry(&outbox, 0).await;
    let longer = outbox.store.renew(&leases, lasting(LEASE * 2)).await.unwrap();

    assert_eq!(shorter, leases);
    assert_eq!(kept, before);
    assert_eq!(longer, leases);
    assert!(expiry(&outbox, 0).await > before);
}

async fn renewals_are_answered_in_the_order_of_the_request(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let mut leases = outbox.lease(8).await;
    leases.reverse();

    let renewed = outbox.store.renew(&leases, lasting(LEASE)).await.unwrap();

    assert_eq!(renewed, leases);
}

async fn an_expired_lease_is_neither_renewed_nor_released(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(3).await;
    outbox.expire(1).await;
    let expired = expiry(&outbox, 1).await;

    let renewed = outbox.store.renew(&leases, lasting(LEASE)).await.unwrap();
    outbox.store.release(&leases[1..2]).await.unwrap();

    assert_eq!(renewed, [leases[0], leases[2]]);
    assert_eq!(expiry(&outbox, 1).await, expired);
}

async fn a_lease_of_a_lane_that_was_leased_anew_is_neither_renewed_nor_released(
    database: TestDatabase,
) {
    let outbox = Outbox::new(database);
    let old = outbox.lease(1).await;
    outbox.expire(0).await;
    let new = outbox.other_worker().lease(1).await;

    let renewed = outbox.store.renew(&old, lasting(LEASE)).await.unwrap();
    outbox.store.release(&old).await.unwrap();

    assert_eq!(renewed, []);
    assert_eq!(outbox.store.renew(&new, lasting(LEASE)).await.unwrap(), new);
}

async fn orphans_are_lanes_free_for_longer_than_a_lease_beyond_the_count(database: TestDatabase) {
    let outbox = Outbox::new(database);
    outbox.lease(62).await;
    let lease = i64::try_from(LEASE.as_micros()).unwrap();
    outbox.set_lane(3, "expires_at", Some(-lease / 2)).await;
    outbox.set_lane(4, "expires_at", Some(-lease / 2)).await;
    outbox.set_lane(9, "expires_at", Some(-lease - SECOND)).await;

    let request = LeaseRequest { orphans: Some(LEASE), ..outbox.other_worker().request(1) };
    let taken = outbox.store.lease(&request).await.unwrap();

    // Lane 3 for the count, 9 because it is free for long, 62 and 63 because nobody ever had them.
    assert_eq!(lanes(&taken), [3, 9, 62, 63]);
}

async fn nothing_to_renew_or_release_or_know_is_answered_with_nothing(database: TestDatabase) {
    let outbox = Outbox::new(database);

    let renewed = outbox.store.renew(&[], lasting(LEASE)).await.unwrap();
    outbox.store.release(&[]).await.unwrap();
    let known = outbox.store.acquired(&[]).await.unwrap();

    assert_eq!(renewed, []);
    assert!(known.is_empty());
}
