//! Keys whose head waits or is dead.

use std::time::Duration;

use outbox_core::{
    DeadReason, Failure, FailureKind, LaneLease, OutboxStore, Outcome, OutcomeKind, Position,
    RecordRef,
};

use crate::database::TestDatabase;
use crate::on_all;
use crate::store_fixture::{HOUR, Outbox, SECOND, outcome, sample};

on_all!(store_park:
    a_dead_head_parks_its_key,
    a_dead_record_without_a_key_parks_nothing,
    a_head_and_what_is_behind_it_may_settle_together,
    a_key_is_parked_once_and_stays_with_its_first_head,
    a_new_owner_is_told_of_keys_that_wait_and_that_are_parked,
    a_parked_record_moves_as_it_is,
    a_record_of_a_freed_key_is_not_parked,
    a_scheduled_record_does_not_make_its_key_wait,
    lanes_are_described_in_the_order_of_the_leases,
    every_failed_record_of_a_key_is_told,
    two_heads_of_one_key_that_die_together_park_it_once,
);

fn dead_head(lease: &LaneLease, record: RecordRef) -> Outcome {
    let kind = OutcomeKind::Dead {
        reason: DeadReason::Rejected,
        error: "too large".to_owned(),
        parks_key: true,
    };
    outcome(lease, record, kind)
}

fn parked(lease: &LaneLease, record: RecordRef) -> Outcome {
    outcome(lease, record, OutcomeKind::Parked)
}

async fn a_dead_head_parks_its_key(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let head = outbox.insert(sample(0).key("a")).await;

    outbox.settle(&[dead_head(&leases[0], head)]).await;

    let state = outbox.store.acquired(&leases).await.unwrap();
    let [(key, record)] = &state[0].parked[..] else { panic!("one parked key") };
    assert_eq!((&*key.topic, key.key.as_str(), *record), ("orders", "a", head));
}

async fn a_dead_record_without_a_key_parks_nothing(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let record = outbox.insert(sample(0)).await;

    outbox.settle(&[dead_head(&leases[0], record)]).await;

    assert_eq!(outbox.count("dead_letter").await, 1);
    assert_eq!(outbox.count("parked_key").await, 0);
}

async fn a_key_is_parked_once_and_stays_with_its_first_head(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let head = outbox.insert(sample(0).key("a")).await;
    let next = outbox.insert(sample(0).key("a")).await;
    outbox.settle(&[dead_head(&leases[0], head)]).await;

    let settled = outbox.settle(&[dead_head(&leases[0], next)]).await;

    assert_eq!(settled.applied, [next]);
    assert_eq!(outbox.value::<i64>("SELECT dead_position FROM outbox_parked_key").await, 1);
    assert_eq!(outbox.positions("dead_letter").await, [1, 2]);
}

async fn two_heads_of_one_key_that_die_together_park_it_once(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let head = outbox.insert(sample(0).key("a")).await;
    let next = outbox.insert(sample(0).key("a")).await;

    outbox.settle(&[dead_head(&leases[0], next), dead_head(&leases[0], head)]).await;

    assert_eq!(outbox.value::<i64>("SELECT dead_position FROM outbox_parked_key").await, 1);
    assert_eq!(outbox.positions("dead_letter").await, [1, 2]);
}

async fn a_parked_record_moves_as_it_is(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let head = outbox.insert(sample(0).key("a")).await;
    let next = outbox.insert(sample(0).key("a").with("revision", "0")).await;
    outbox.settle(&[dead_head(&leases[0], head)]).await;

    let settled = outbox.settle(&[parked(&leases[0], next)]).await;

    assert_eq!(settled.applied, [next]);
    assert!(outbox.positions("message").await.is_empty());
    assert_eq!(outbox.positions("parked").await, [next.position.0]);
    assert_eq!(outbox.value::<i32>("SELECT attempts + revision FROM outbox_parked").await, 0);
}

async fn a_head_and_what_is_behind_it_may_settle_together(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let head = outbox.insert(sample(0).key("a")).await;
    let next = outbox.insert(sample(0).key("a")).await;

    let settled = outbox.settle(&[dead_head(&leases[0], head), parked(&leases[0], next)]).await;

    assert_eq!(settled.applied.len(), 2);
    assert_eq!(outbox.positions("dead_letter").await, [head.position.0]);
    assert_eq!(outbox.positions("parked").await, [next.position.0]);
}

async fn a_record_of_a_freed_key_is_not_parked(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let head = outbox.insert(sample(0).key("a")).await;
    let next = outbox.insert(sample(0).key("a")).await;
    let other = outbox.insert(sample(0).key("b")).await;
    outbox.settle(&[dead_head(&leases[0], head)]).await;
    outbox.run("DELETE FROM outbox_parked_key").await;

    let settled = outbox
        .settle(&[parked(&leases[0], next), outcome(&leases[0], other, OutcomeKind::Published)])
        .await;

    assert_eq!(settled.applied, [other]);
    assert_eq!(outbox.positions("message").await, [next.position.0]);
    assert_eq!(outbox.count("parked").await, 0);
}

async fn a_new_owner_is_told_of_keys_that_wait_and_that_are_parked(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(2).await;
    let head = outbox.insert(sample(0).key("a")).await;
    let dead = outbox.insert(sample(0).key("b")).await;
    let due = outbox.insert(sample(0).key("c")).await;
    let failed = |record, delay| {
        let failure = Failure::new(FailureKind::Transient, "no route");
        outcome(&leases[0], record, OutcomeKind::Failed { failure, delay })
    };
    let waits = failed(head, Duration::from_hours(1));
    outbox.settle(&[waits, dead_head(&leases[0], dead), failed(due, Duration::ZERO)]).await;

    let state = outbox.store.acquired(&leases).await.unwrap();

    let [waiting, is_due] = &state[0].waiting[..] else { panic!("two waiting keys: {state:?}") };
    assert_eq!((&*waiting.key.topic, waiting.key.key.as_str()), ("orders", "a"));
    assert_eq!(waiting.head, head.position);
    assert_eq!((is_due.key.key.as_str(), is_due.due_in), ("c", Duration::ZERO));
    let due_in = waiting.due_in.as_secs();
    assert!((3500..=3600).contains(&due_in), "{due_in}");
    assert_eq!(state[0].parked[0].1, dead);
    assert!(state[1].waiting.is_empty() && state[1].parked.is_empty());
}

async fn a_scheduled_record_does_not_make_its_key_wait(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    outbox.insert(sample(0).key("a").with("available_at", &outbox.instant(Some(HOUR)))).await;

    let state = outbox.store.acquired(&leases).await.unwrap();

    assert!(state[0].waiting.is_empty());
}

async fn every_failed_record_of_a_key_is_told(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    for wait in [2 * HOUR, HOUR] {
        let failed = sample(0).key("a").with("attempts", "1");
        outbox.insert(failed.with("available_at", &outbox.instant(Some(wait)))).await;
    }

    let state = outbox.store.acquired(&leases).await.unwrap();

    let [first, second] = &state[0].waiting[..] else { panic!("two failed records: {state:?}") };
    assert_eq!([first.head, second.head], [Position(1), Position(2)]);
    assert!(first.due_in > Duration::from_micros((HOUR + SECOND).unsigned_abs()));
}

async fn lanes_are_described_in_the_order_of_the_leases(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let mut leases = outbox.lease(3).await;
    let head = outbox.insert(sample(2).key("a")).await;
    outbox.settle(&[dead_head(&leases[2], head)]).await;
    leases.reverse();

    let state = outbox.store.acquired(&leases).await.unwrap();

    let parked: Vec<usize> = state.iter().map(|lane| lane.parked.len()).collect();
    assert_eq!(parked, [1, 0, 0]);
}
