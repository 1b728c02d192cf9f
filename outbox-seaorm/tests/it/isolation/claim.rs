//! Claims of single records beside the owner of their lane.

use super::judge::Answer;
use super::order::Orders;
use super::production::{Played, Production};
use super::roles::{Answers, Ending, claims, renews_for_long, settles};
use super::scene::{Plan, Scene};
use crate::database::TestDatabase;

pub(crate) async fn a_claim_and_a_settlement_never_both_get_a_record(database: TestDatabase) {
    let mut production = Production::open("settle with claim", &database, 2).await;
    production.plan = Plan { held: 1, free: 0, records: 1 };
    production.time_passes = true;
    for ending in [Ending::Failed, Ending::Published] {
        let mut orders = Orders::every();
        while orders.another() {
            let scripts = |scene: &Scene, told: &Answers| {
                vec![settles(told, 0, ending.of(scene)), claims(told, 1, scene.records[0][0])]
            };
            let played = production.play(&mut orders, scripts).await;
            let settled = played.answers.iter().any(|(_, answer)| match answer {
                Answer::Settled(_, settled) => !settled.applied.is_empty(),
                _ => false,
            });
            assert!(!(settled && is_claimed(&played)), "both have it\n{}", played.trace.text());
        }
        production.report(&orders).await;
    }
}

/// A lease that is renewed is live until the end, so that no record of its lane can be claimed.
pub(crate) async fn a_claim_and_a_renewal_never_both_get_a_lane(database: TestDatabase) {
    let mut production = Production::open("renew with claim", &database, 2).await;
    production.plan = Plan { held: 1, free: 0, records: 1 };
    production.time_passes = true;
    let mut orders = Orders::every();
    while orders.another() {
        let scripts = |scene: &Scene, told: &Answers| {
            let renewal = renews_for_long(told, 0, scene.leases.clone());
            vec![renewal, claims(told, 1, scene.records[0][0])]
        };
        let played = production.play(&mut orders, scripts).await;
        let renewed = played.answers.iter().any(|(_, answer)| match answer {
            Answer::Renewed(renewed) => !renewed.is_empty(),
            _ => false,
        });
        assert!(!(renewed && is_claimed(&played)), "both have it\n{}", played.trace.text());
    }
    production.report(&orders).await;
}

fn is_claimed(played: &Played) -> bool {
    played.answers.iter().any(|(_, answer)| matches!(answer, Answer::Claimed(true)))
}
