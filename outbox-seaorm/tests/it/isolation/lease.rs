//! Leases beside leases.

use std::time::Duration;

use outbox_core::LeaseRequest;

use super::order::Orders;
use super::production::{Played, Production};
use super::roles::{Answers, leases, request};
use super::scene::{Plan, Scene};
use crate::database::TestDatabase;

pub(crate) async fn two_workers_never_lease_the_same_lane(database: TestDatabase) {
    let mut production = Production::open("lease with lease", &database, 2).await;
    production.owners.clear();
    for (held, free, time_passes) in [(0, 3, false), (2, 1, true)] {
        production.plan = Plan { held, free, records: 0 };
        production.time_passes = time_passes;
        let mut orders = Orders::every();
        while orders.another() {
            let scripts = |_: &Scene, told: &Answers| {
                vec![leases(told, 0, request(2)), leases(told, 1, request(2))]
            };
            nobody_waits(&production.play(&mut orders, scripts).await);
        }
        production.report(&orders).await;
    }
}

pub(crate) async fn three_workers_never_lease_the_same_lane(database: TestDatabase) {
    let mut production = Production::open("three leases", &database, 3).await;
    production.plan = Plan { held: 2, free: 3, records: 0 };
    production.owners.clear();
    production.time_passes = true;
    let mut orders = Orders::seeded(200);
    while orders.another() {
        let scripts = |_: &Scene, told: &Answers| {
            let orphans = LeaseRequest { orphans: Some(Duration::from_mins(1)), ..request(1) };
            vec![leases(told, 0, request(2)), leases(told, 1, orphans), leases(told, 2, request(3))]
        };
        nobody_waits(&production.play(&mut orders, scripts).await);
    }
    production.report(&orders).await;
}

/// A lane that somebody is about to take is skipped.
fn nobody_waits(played: &Played) {
    assert_eq!(played.trace.waits(), 0, "{}", played.trace.text());
}
