//! Records of one key go out one at a time, in order.

use std::collections::HashMap;
use std::time::Duration;

use outbox_core::{EventId, FailureKind, Schedule, StagedMessage};
use outbox_testing::{CommitOrder, SentMessage, StoreCall, Times};

use crate::rig::{Rig, failure, message, ordered};

fn staged(message: outbox_core::OutboxMessage) -> StagedMessage {
    StagedMessage { message, schedule: Schedule::Now }
}

/// Ids of accepted messages by key, in the order of sending.
fn by_key(sent: &[SentMessage]) -> HashMap<String, Vec<EventId>> {
    let mut keys: HashMap<String, Vec<EventId>> = HashMap::new();
    for one in sent.iter().filter(|one| one.was_accepted()) {
        keys.entry(one.key.clone().unwrap()).or_default().push(one.id);
    }
    keys
}

#[tokio::test(start_paused = true)]
async fn records_of_a_key_are_sent_one_at_a_time_in_order() {
    let rig = Rig::new();
    let mut expected: HashMap<String, Vec<EventId>> = HashMap::new();
    for round in 0..40 {
        let key = (round % 4).to_string();
        let id = rig.store.stage(ordered("orders", &key)).id;
        expected.entry(key).or_default().push(id);
    }

    let worker = rig.start();
    rig.until_empty().await;

    let sent = rig.publisher.sent();
    assert_eq!(by_key(&sent), expected);
    let mut calls: Vec<_> = sent.iter().map(|one| (one.call, one.key.clone())).collect();
    let all = calls.len();
    calls.sort();
    calls.dedup();
    assert_eq!(calls.len(), all, "two records of one key in one call");
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_head_holds_back_its_key_and_nothing_else() {
    let rig = Rig::new();
    let first = rig.store.stage(ordered("orders", "7")).id;
    let second = rig.store.stage(ordered("orders", "7")).id;
    let other = rig.store.stage(ordered("orders", "8")).id;
    let bad = move |message: &outbox_core::OutboxMessage| message.id == first;
    rig.publisher.fail_when(bad, Times::First(3), failure(FailureKind::Transient));

    let worker = rig.start();
    rig.until("a failure", |store| store.pending().iter().any(|r| r.attempts > 0)).await;
    // One that is read while the head waits must not set the others going.
    let third = rig.store.stage(ordered("orders", "7")).id;
    rig.until_empty().await;

    assert_eq!(rig.publisher.accepted(), [other, first, second, third]);
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_new_owner_knows_which_keys_wait() {
    let rig = Rig::new();
    let first = rig.store.stage(ordered("orders", "7")).id;
    // Long enough not to be due when its successor is read.
    let mut later = failure(FailureKind::Transient);
    later.retry_after = Some(Duration::from_mins(1));
    rig.publisher.fail_next(later);
    let worker = rig.start();
    rig.until("a failure", |store| store.pending().iter().any(|r| r.attempts == 1)).await;
    worker.stop().await;
    let second = rig.store.stage(ordered("orders", "7")).id;

    let worker = rig.start();
    rig.until_empty().await;

    assert_eq!(rig.publisher.accepted(), [first, second]);
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_dead_head_parks_its_key() {
    let rig = Rig::new();
    let dead = rig.store.stage(ordered("orders", "7")).id;
    let behind = rig.store.stage(ordered("orders", "7")).id;
    let other = rig.store.stage(ordered("orders", "8")).id;
    let bad = move |message: &outbox_core::OutboxMessage| message.id == dead;
    rig.publisher.fail_when(bad, Times::Always, failure(FailureKind::Message));

    let worker = rig.start();
    rig.until_empty().await;
    let late = rig.store.stage(ordered("orders", "7")).id;
    rig.until("a parked record", |store| store.parked().len() == 2).await;

    assert_eq!(rig.publisher.accepted(), [other]);
    let parked: Vec<_> = rig.store.parked().iter().map(|record| record.reference.id).collect();
    assert_eq!(parked, [behind, late]);
    worker.stop().await;
}

/// Only once it is written that the head is dead: a successor would find it there and send it late.
#[tokio::test(start_paused = true)]
async fn a_key_whose_topic_skips_goes_on_after_a_dead_head() {
    let mut rig = Rig::new();
    rig.settings.skip_dead = vec!["orders".to_owned()];
    let dead = rig.store.stage(ordered("orders", "7")).id;
    let behind = rig.store.stage(ordered("orders", "7")).id;
    let bad = move |message: &outbox_core::OutboxMessage| message.id == dead;
    rig.publisher.fail_when(bad, Times::Always, failure(FailureKind::Message));
    let settlement = rig.store.pause(StoreCall::Settle);

    let worker = rig.start();
    settlement.arrived().await;
    rig.pass(rig.settings.store_timeout / 2).await;
    let before = rig.publisher.accepted();
    settlement.release();
    rig.until_empty().await;

    assert_eq!((before, rig.publisher.accepted()), (vec![], vec![behind]));
    assert_eq!((rig.store.dead_letters().len(), rig.store.parked().len()), (1, 0));
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_key_whose_topic_skips_goes_on_after_a_row_that_cannot_be_decoded() {
    let mut rig = Rig::new();
    rig.settings.skip_dead = vec!["orders".to_owned()];
    let broken = rig.store.stage(ordered("orders", "7"));
    let behind = rig.store.stage(ordered("orders", "7")).id;
    rig.store.damage(broken, "its headers are no JSON");

    let worker = rig.start();
    rig.until_empty().await;

    assert_eq!(rig.publisher.accepted(), [behind]);
    assert_eq!((rig.store.dead_letters().len(), rig.store.parked().len()), (1, 0));
    worker.stop().await;
}

/// The settlement of the failed head took effect, but nobody heard of it.
#[tokio::test(start_paused = true)]
async fn a_lost_answer_does_not_let_the_next_record_overtake_a_failed_one() {
    let rig = Rig::new();
    let first = rig.store.stage(ordered("orders", "7")).id;
    let second = rig.store.stage(ordered("orders", "7")).id;
    let mut later = failure(FailureKind::Transient);
    later.retry_after = Some(Duration::from_mins(1));
    rig.publisher.fail_next(later);
    rig.store.lose_next_answer(StoreCall::Settle);

    let worker = rig.start();
    rig.until_empty().await;

    assert_eq!(rig.publisher.accepted(), [first, second]);
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_does_not_free_the_key_of_a_dead_record() {
    let rig = Rig::new();
    rig.store.stage(ordered("orders", "7"));
    let behind = rig.store.stage(ordered("orders", "7")).id;
    rig.publisher.fail_next(failure(FailureKind::Message));
    rig.store.lose_next_answer(StoreCall::Settle);
    // The parking of the record behind gets no answer either.
    let worker = rig.start();
    rig.until("a dead letter", |store| store.dead_letters().len() == 1).await;
    rig.store.lose_next_answer(StoreCall::Settle);
    rig.until_empty().await;
    rig.store.stage(ordered("orders", "7"));
    rig.until("two parked records", |store| store.parked().len() == 2).await;

    assert_eq!(rig.store.parked()[0].reference.id, behind);
    assert!(rig.publisher.accepted().is_empty());
    worker.stop().await;
}

/// A scheduled record takes its place when it is due, so a key can have two records that failed.
#[tokio::test(start_paused = true)]
async fn a_key_waits_for_every_record_that_failed() {
    let rig = Rig::new();
    let second = Schedule::After(Duration::from_secs(1));
    let scheduled = rig.store.stage_for(ordered("orders", "7"), second).id;
    let first = rig.store.stage(ordered("orders", "7")).id;
    let mut long = failure(FailureKind::Transient);
    long.retry_after = Some(Duration::from_mins(2));
    let mut short = failure(FailureKind::Transient);
    short.retry_after = Some(Duration::from_mins(1));
    rig.publisher.script([Err(long), Err(short)]);

    let worker = rig.start();
    rig.until("two failures", |store| store.pending().iter().all(|r| r.attempts == 1)).await;
    let last = rig.store.stage(ordered("orders", "7")).id;
    rig.until_empty().await;

    assert_eq!(rig.publisher.accepted(), [scheduled, first, last]);
    worker.stop().await;
}

/// The worker was away while a scheduled record became due behind an earlier one of its key.
#[tokio::test(start_paused = true)]
async fn a_due_scheduled_record_does_not_overtake_what_waits_before_it() {
    let rig = Rig::new();
    let first = rig.store.stage(ordered("orders", "7")).id;
    let second = Schedule::After(Duration::from_secs(1));
    let scheduled = rig.store.stage_for(ordered("orders", "7"), second).id;
    rig.pass(Duration::from_mins(1)).await;

    let worker = rig.start();
    rig.until_empty().await;

    assert_eq!(rig.publisher.accepted(), [first, scheduled]);
    worker.stop().await;
}

/// Break A1: the first record of a key commits late, after the cursor has passed it, and the second
/// one is staged after that commit.
#[tokio::test(start_paused = true)]
async fn a_record_that_commits_late_goes_before_what_was_staged_after_its_commit() {
    let rig = Rig::with_commits(CommitOrder::Numbered);
    let worker = rig.start();
    for round in 0..20 {
        let key = format!("key-{round}");
        let (first, second) = (ordered("orders", &key), ordered("orders", &key));
        let lane_mates = (0..200).map(|_| message("orders")).filter(|m| m.lane() == first.lane());
        let mate = lane_mates.last().unwrap_or_else(|| message("orders"));
        let expected = [mate.id, first.id, second.id];
        let mut late = rig.store.begin();
        late.stage(staged(first));
        rig.store.stage(mate);
        rig.accepted(round * 3 + 1).await;

        // The cursor has passed. Nothing may be read between the commit and the next stage, or
        // the order would be right by chance.
        let gate = rig.store.pause(StoreCall::Read);
        gate.arrived().await;
        late.commit();
        rig.store.stage(second);
        gate.release();
        let accepted = rig.accepted(round * 3 + 3).await;

        assert_eq!(accepted[round * 3..], expected, "round {round}");
    }
    worker.stop().await;
}

/// Nothing is left behind where nothing is known about open transactions.
#[tokio::test(start_paused = true)]
async fn late_commits_are_found_on_every_kind_of_store() {
    for commits in [CommitOrder::Numbered, CommitOrder::Ordered, CommitOrder::Unknown] {
        let rig = Rig::with_commits(commits);
        let worker = rig.start();
        let mut open = Vec::new();
        for round in 0..60 {
            let mut transaction = rig.store.begin();
            transaction.stage(staged(message("orders")));
            open.push(transaction);
            if round % 3 == 2 {
                // Of three transactions the middle one commits first, the oldest last.
                drop(open.remove(1).commit());
                rig.accepted(round - 1).await;
                drop(open.pop().map(outbox_testing::MemoryTransaction::commit));
                drop(open.pop().map(outbox_testing::MemoryTransaction::commit));
                rig.accepted(round + 1).await;
            }
        }
        rig.until_empty().await;

        assert_eq!(rig.publisher.arrived(), 60, "{commits:?}");
        worker.stop().await;
    }
}

/// More records commit late than one read can bring.
#[tokio::test(start_paused = true)]
async fn a_cut_answer_leaves_nothing_behind() {
    let mut rig = Rig::with_commits(CommitOrder::Numbered);
    rig.settings.read_records = std::num::NonZeroU32::new(10).unwrap();
    let worker = rig.start();
    let mut late = rig.store.begin();
    for _ in 0..50 {
        late.stage(staged(ordered("orders", "7")));
    }
    // Same lane, later position, and two settlements whose numbers lie behind the open transaction.
    rig.store.stage(ordered("orders", "7"));
    rig.accepted(1).await;
    rig.store.stage(ordered("orders", "7"));
    rig.accepted(2).await;
    rig.until_empty().await;

    let expected: Vec<EventId> = late.commit().into_iter().map(|record| record.id).collect();
    let accepted = rig.accepted(52).await;

    assert_eq!(accepted[2..], expected);
    worker.stop().await;
}

/// Break A2: a read that began before a settlement shows what was settled.
#[tokio::test(start_paused = true)]
async fn a_read_that_began_before_a_settlement_sends_nothing_again() {
    // Where commits are ordered the floor has passed the record, and no read can show it again.
    for commits in [CommitOrder::Numbered, CommitOrder::Unknown] {
        let mut rig = Rig::with_commits(commits);
        // One reader, so that the read that is held covers the record's lane.
        rig.settings.readers = std::num::NonZeroU8::MIN;
        let sends = rig.publisher.hold();
        rig.store.stage(message("orders"));
        let worker = rig.start();
        rig.publisher.arrived_at_least(1).await;
        let stale_read = rig.store.pause_answer(StoreCall::Read);
        stale_read.arrived().await;

        sends.release();
        rig.until_empty().await;
        stale_read.release();
        rig.pass(Duration::from_secs(3)).await;
        rig.store.stage(message("orders"));
        rig.accepted(2).await;
        rig.until_empty().await;

        assert_eq!(rig.publisher.arrived(), 2, "{commits:?}");
        worker.stop().await;
    }
}

/// Its turn comes after the records that stand before it, also after one that fails first.
#[tokio::test(start_paused = true)]
async fn what_cannot_be_decoded_parks_what_stands_behind_it_and_nothing_else() {
    let rig = Rig::new();
    let before = rig.store.stage(ordered("orders", "7")).id;
    let damaged = rig.store.stage(ordered("orders", "7"));
    rig.store.damage(damaged, "headers is no JSON");
    let behind = rig.store.stage(ordered("orders", "7")).id;
    let other = rig.store.stage(ordered("orders", "8")).id;
    let first_send = move |message: &outbox_core::OutboxMessage| message.id == before;
    rig.publisher.fail_when(first_send, Times::First(1), failure(FailureKind::Transient));

    let worker = rig.start();
    rig.until_empty().await;

    assert_eq!(rig.publisher.accepted(), [other, before]);
    assert_eq!(rig.store.dead_letters()[0].record.reference, damaged);
    let parked: Vec<_> = rig.store.parked().iter().map(|record| record.reference.id).collect();
    assert_eq!(parked, [behind]);
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_overtakes_what_cannot_be_decoded_while_its_death_is_written() {
    let rig = Rig::new();
    let damaged = rig.store.stage(ordered("orders", "7"));
    rig.store.damage(damaged, "headers is no JSON");
    rig.store.stage(ordered("orders", "7"));
    let other = rig.store.stage(ordered("orders", "8")).id;
    let settling = rig.store.pause(StoreCall::Settle);

    let worker = rig.start();
    rig.accepted(1).await;
    rig.pass(Duration::from_secs(5)).await;
    settling.release();
    rig.until_empty().await;

    assert_eq!(rig.publisher.accepted(), [other]);
    assert_eq!(rig.store.parked().len(), 1);
    worker.stop().await;
}

/// It reads when the record is due, however rarely it looks otherwise.
#[tokio::test(start_paused = true)]
async fn a_new_owner_reads_when_a_waiting_record_is_due() {
    let mut rig = Rig::new();
    rig.store.stage(ordered("orders", "7"));
    let mut later = failure(FailureKind::Transient);
    later.retry_after = Some(Duration::from_mins(5));
    rig.publisher.fail_next(later);
    let worker = rig.start();
    rig.until("a failure", |store| store.pending().iter().any(|r| r.attempts == 1)).await;
    worker.stop().await;
    rig.settings.idle_poll = Duration::from_hours(1);

    let worker = rig.start();
    let started = tokio::time::Instant::now();
    rig.until_empty().await;

    assert!(started.elapsed() <= Duration::from_secs(302), "{:?}", started.elapsed());
    worker.stop().await;
}
