//! Cases about records that will not be tried again.

use std::time::Duration;

use outbox_core::{DeadReason, Outcome, OutcomeKind};

use super::fixture::{StoreFixture, StoredDeadLetter};
use super::outbox::{Outbox, only};
use super::sample::{complete, dead, failed, keyed, message};

/// A dead record leaves the hot table and is kept with its reason, error and payload.
pub async fn a_dead_record_is_kept_with_its_reason(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    let staged = complete();
    outbox.stage([staged.clone()]).await;
    let record = outbox.read_one().await;

    let settled = outbox.settle(&record, dead()).await;

    assert_eq!(settled.applied, [record.reference]);
    assert_eq!(outbox.read().await, []);
    let letter = only(fixture.dead_letters().await);
    let expected = StoredDeadLetter {
        record: record.reference,
        attempts: 1,
        reason: DeadReason::Rejected.as_str().to_owned(),
        error: "message is too long".to_owned(),
        payload: staged.message.payload,
    };
    assert_eq!(letter, expected);
}

/// Each reason is stored as its word.
pub async fn each_reason_is_stored_as_its_word(fixture: &dyn StoreFixture) {
    let reasons = [
        DeadReason::AttemptsExhausted,
        DeadReason::Expired,
        DeadReason::Rejected,
        DeadReason::Undecodable,
        DeadReason::WorkerLost,
    ];
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage(reasons.map(|_| keyed("key"))).await;
    let outcomes: Vec<Outcome> =
        outbox.read().await.iter().zip(reasons).map(died(&outbox)).collect();

    outbox.settle_all(&outcomes).await;

    let stored = fixture.dead_letters().await;
    let words: Vec<&str> = stored.iter().map(|letter| letter.reason.as_str()).collect();
    assert_eq!(words, reasons.map(DeadReason::as_str));
}

/// A record may die after it failed; the failure that killed it counts too.
pub async fn a_record_may_die_after_it_failed(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage([message()]).await;
    let record = outbox.read_one().await;
    outbox.settle(&record, failed(Duration::ZERO)).await;
    let again = outbox.read_one().await;

    outbox.settle(&again, dead()).await;

    assert_eq!(outbox.read().await, []);
    let letter = only(fixture.dead_letters().await);
    assert_eq!((letter.record, letter.attempts), (record.reference, 2));
}

/// A death that is reported again changes nothing.
pub async fn a_repeated_death_changes_nothing(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage([message()]).await;
    let record = outbox.read_one().await;
    outbox.settle(&record, dead()).await;

    let again = outbox.settle(&record, dead()).await;

    assert_eq!(again.applied, []);
    assert_eq!(again.lost, []);
    assert_eq!(fixture.dead_letters().await.len(), 1);
}

/// Two records of one event may both die.
pub async fn two_records_of_one_event_may_both_die(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    let staged = message();
    outbox.stage([staged.clone(), staged]).await;
    let records = outbox.read().await;
    outbox.settle(&records[0], dead()).await;

    let second = outbox.settle(&records[1], dead()).await;

    assert_eq!(second.applied, [records[1].reference]);
    assert_eq!(fixture.dead_letters().await.len(), 2);
}

/// A death does not touch the other records of its lane.
pub async fn a_death_leaves_the_rest_of_its_lane_alone(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.stage([keyed("key"), keyed("key")]).await;
    let records = outbox.read().await;

    outbox.settle(&records[0], dead()).await;

    assert_eq!(outbox.read_one().await, records[1]);
}

/// A row that cannot be decoded can become a dead letter with its payload kept.
pub async fn an_undecodable_row_becomes_a_dead_letter(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    let staged = message();
    outbox.stage([staged.clone()]).await;
    let record = outbox.read_one().await;
    fixture.damage(record.reference).await;
    let row = only(outbox.read_as(&Outbox::read_request()).await.undecodable);
    let kind =
        OutcomeKind::Dead { reason: DeadReason::Undecodable, error: row.error, parks_key: false };

    let settled = outbox.settle(&record, kind).await;

    assert_eq!(settled.applied, [row.reference]);
    assert!(outbox.read_as(&Outbox::read_request()).await.is_empty());
    let letter = only(fixture.dead_letters().await);
    assert_eq!(letter.payload, staged.message.payload);
    assert_eq!(letter.attempts, 0, "it was never tried");
}

fn died<'o>(
    outbox: &'o Outbox<'_>,
) -> impl Fn((&outbox_core::OutboxRecord, DeadReason)) -> Outcome + 'o {
    |(record, reason)| {
        let error = "broker is away".to_owned();
        outbox.outcome(record, OutcomeKind::Dead { reason, error, parks_key: false })
    }
}
