//! Settlements beside leases, renewals and settlements.

use outbox_core::{LaneLease, RecordRef};

use super::judge::Answer;
use super::order::Orders;
use super::production::{Played, Production};
use super::roles::{Answers, Ending, renews, settles, takes_over, takes_over_and_sends, writes_to};
use super::scene::{Plan, Scene};
use crate::database::TestDatabase;

pub(crate) async fn who_lost_a_lane_settles_nothing_in_it(database: TestDatabase) {
    let mut production = Production::open("settle with re-lease", &database, 2).await;
    production.plan = Plan { held: 2, free: 0, records: 2 };
    production.time_passes = true;
    for ending in [Ending::Failed, Ending::Published] {
        let mut orders = Orders::every();
        while orders.another() {
            let scripts = |scene: &Scene, told: &Answers| {
                vec![settles(told, 0, ending.of(scene)), takes_over(told, 1, 2)]
            };
            let played = production.play(&mut orders, scripts).await;
            who_comes_late_settles_nothing(&production, &played);
        }
        production.report(&orders).await;
    }
}

/// The third writes to a record of the first lane, so that who settles must wait in the middle.
pub(crate) async fn who_lost_a_lane_while_it_waits_settles_nothing_in_it(database: TestDatabase) {
    let mut production = Production::open("settle, re-lease and a write", &database, 3).await;
    production.plan = Plan { held: 2, free: 0, records: 3 };
    production.time_passes = true;
    let mut orders = Orders::seeded(200);
    while orders.another() {
        let ending = Ending::ALL[orders.played() % 3];
        let commits = orders.played().is_multiple_of(2);
        let scripts = |scene: &Scene, told: &Answers| {
            let first = settles(told, 0, ending.of(scene));
            let write = writes_to(told, 2, scene.records[0][1], commits);
            vec![first, takes_over_and_sends(told, 1, 2), write]
        };
        let played = production.play(&mut orders, scripts).await;
        who_comes_late_settles_nothing(&production, &played);
        what_was_written_is_kept(&played, commits);
    }
    production.report(&orders).await;
}

pub(crate) async fn a_settlement_and_its_repetition_count_once(database: TestDatabase) {
    let mut production = Production::open("settle with settle", &database, 2).await;
    production.plan = Plan { held: 2, free: 0, records: 2 };
    production.owners = vec![0, 1];
    for ending in Ending::ALL {
        let mut orders = Orders::every();
        while orders.another() {
            let scripts = |scene: &Scene, told: &Answers| {
                let outcomes = ending.of(scene);
                vec![settles(told, 0, outcomes.clone()), settles(told, 1, outcomes)]
            };
            production.play(&mut orders, scripts).await;
        }
        production.report(&orders).await;
    }
}

/// A worker settles and renews at once. Where a renewal dies before its commit, a lease may end
/// while the settlement waits for it.
pub(crate) async fn a_settlement_and_a_renewal_leave_each_other_whole(database: TestDatabase) {
    let mut production = Production::open("settle with renew", &database, 2).await;
    production.plan = Plan { held: 3, free: 0, records: 2 };
    production.owners = vec![0, 1];
    for (time_passes, commits) in [(false, true), (true, true), (true, false)] {
        production.time_passes = time_passes;
        let mut orders = Orders::every();
        while orders.another() {
            let scripts = |scene: &Scene, told: &Answers| {
                let renewal = renews(told, 1, backwards(scene), commits);
                vec![settles(told, 0, Ending::Published.of(scene)), renewal]
            };
            let played = production.play(&mut orders, scripts).await;
            who_comes_late_settles_nothing(&production, &played);
            renewals_are_as_told(&production, &played, commits);
        }
        production.report(&orders).await;
    }
}

/// The third holds the lane in the middle, so that two who lock in different orders meet there.
pub(crate) async fn a_settlement_and_two_renewals_never_deadlock(database: TestDatabase) {
    let mut production = Production::open("settle and two renewals", &database, 3).await;
    production.plan = Plan { held: 3, free: 0, records: 2 };
    production.owners = vec![0, 1, 2];
    let mut orders = Orders::seeded(200);
    while orders.another() {
        let ending = Ending::ALL[orders.played() % 3];
        let commits = orders.played().is_multiple_of(2);
        production.time_passes = orders.played().is_multiple_of(5);
        let scripts = |scene: &Scene, told: &Answers| {
            let mut outcomes = ending.of(scene);
            outcomes.reverse();
            let middle = vec![scene.leases[1]];
            let renewals =
                [renews(told, 1, backwards(scene), true), renews(told, 2, middle, commits)];
            [settles(told, 0, outcomes)].into_iter().chain(renewals).collect()
        };
        let played = production.play(&mut orders, scripts).await;
        who_comes_late_settles_nothing(&production, &played);
        renewals_are_as_told(&production, &played, commits);
    }
    production.report(&orders).await;
}

fn backwards(scene: &Scene) -> Vec<LaneLease> {
    scene.leases.iter().rev().copied().collect()
}

/// Who asks after the end of its lease settles nothing, unless a renewal that was in time has made
/// it longer; who asks in time loses none.
fn who_comes_late_settles_nothing(production: &Production, played: &Played) {
    let late = played.came_late(production, 0);
    let never = played.passed(production).is_none();
    let renewed = renewed_in_time(production, played);
    for (actor, answer) in &played.answers {
        if let (0, Answer::Settled(_, settled)) = (*actor, answer) {
            let text = played.trace.text();
            let longer = |it: &RecordRef| renewed.iter().any(|lease| lease.lane == it.lane);
            let in_time = !late || settled.applied.iter().all(longer);
            assert!(in_time, "it settled too late\n{text}");
            assert!(!never || settled.lost.is_empty(), "a live lease is lost\n{text}");
        }
    }
}

fn renewed_in_time(production: &Production, played: &Played) -> Vec<LaneLease> {
    let renewed = played.answers.iter().filter_map(|(actor, answer)| match answer {
        Answer::Renewed(renewed) if !played.came_late(production, *actor) => Some(renewed.clone()),
        _ => None,
    });
    renewed.flatten().collect()
}

/// A renewal that is told is there, and one that was asked for too late is not.
fn renewals_are_as_told(production: &Production, played: &Played, commits: bool) {
    let (first, last, text) = (played.watch.first(), played.watch.last(), played.trace.text());
    let never = played.passed(production).is_none();
    let longer = renewed_in_time(production, played);
    for (actor, answer) in &played.answers {
        let Answer::Renewed(renewed) = answer else { continue };
        let late = played.came_late(production, *actor);
        let in_time = renewed.iter().all(|lease| longer.contains(lease));
        assert!(!late || in_time, "it renewed too late\n{text}");
        let asked = if played.scene.leases.len() == 3 && *actor == 2 { 1 } else { 3 };
        assert!(!never || renewed.len() == asked, "a live lease is not renewed\n{text}");
        let dies = !commits && production.stage.server.is_postgres();
        for lease in renewed {
            let number = i64::from(lease.lane.number());
            let is_longer = last.lanes[&number].1 > first.lanes[&number].1;
            // On SQLite the hour that passes makes the leases older.
            let told = is_longer || dies || (production.stage.server.is_sqlite() && !never);
            assert!(told, "the renewal of lane {number} is not there\n{text}");
        }
    }
}

/// What an operator wrote before the record was moved is moved with it.
fn what_was_written_is_kept(played: &Played, commits: bool) {
    let record = played.scene.records[0][1].position.0;
    for (_, answer) in &played.answers {
        let Answer::Wrote(rows) = answer else { continue };
        if let Some(place) = played.watch.last().records.get(&record) {
            let written = place.tenant.is_some();
            let text = played.trace.text();
            assert_eq!(written, *rows == 1 && commits, "the write is lost\n{text}");
        }
    }
}
