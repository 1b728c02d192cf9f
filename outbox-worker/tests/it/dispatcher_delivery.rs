//! Every committed record is sent, settled and gone.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::TimeDelta;
use outbox_core::{
    BatchLimit, DeadReason, FailedAttempt, FailureKind, OutboxMessage, PublishOutcomes, Publisher,
    RetryPolicy, Schedule, StoreErrorKind, Verdict,
};
use outbox_testing::{StoreCall, Times};

use crate::rig::{Rig, failure, message};

#[tokio::test(start_paused = true)]
async fn every_record_is_sent_once_and_leaves_the_outbox() {
    let rig = Rig::new();
    let staged: HashSet<_> = (0..1000).map(|_| rig.store.stage(message("orders")).id).collect();

    let worker = rig.start();
    rig.until_empty().await;

    let accepted = rig.publisher.accepted();
    assert_eq!(accepted.len(), 1000);
    assert_eq!(accepted.into_iter().collect::<HashSet<_>>(), staged);
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn records_staged_while_it_runs_are_sent() {
    let rig = Rig::new();
    let worker = rig.start();
    rig.until("leased lanes", |store| store.lanes().len() == 64).await;

    for _ in 0..20 {
        rig.store.stage(message("orders"));
        rig.until_empty().await;
    }

    assert_eq!(rig.publisher.accepted().len(), 20);
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_scheduled_record_is_sent_when_it_is_due() {
    let rig = Rig::new();
    let start = rig.clock.now();
    rig.store.stage_for(message("orders"), Schedule::After(Duration::from_mins(1)));

    let worker = rig.start();
    rig.accepted(1).await;

    let sent = rig.publisher.sent();
    let waited = sent[0].at - start;
    assert!(waited >= TimeDelta::seconds(60), "sent after {waited}");
    assert!(waited < TimeDelta::seconds(63), "sent after {waited}");
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_record_is_tried_again_and_its_failure_counted() {
    let rig = Rig::new();
    let record = rig.store.stage(message("orders"));
    rig.publisher.fail_when(|_| true, Times::First(2), failure(FailureKind::Transient));

    let worker = rig.start();
    rig.until("two failures", |store| store.pending().iter().any(|r| r.attempts == 2)).await;
    rig.until_empty().await;

    assert_eq!(rig.publisher.accepted(), [record.id]);
    assert_eq!(worker.figures.failed(FailureKind::Transient), 2);
    assert_eq!(worker.figures.published(), 1);
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_record_that_fails_too_often_is_dead_with_its_reason() {
    let mut rig = Rig::new();
    rig.retry.max_attempts = std::num::NonZeroU32::new(3);
    rig.store.stage(message("orders"));
    rig.publisher.fail_when(|_| true, Times::Always, failure(FailureKind::Transient));

    let worker = rig.start();
    rig.until_empty().await;

    let dead = rig.store.dead_letters();
    assert_eq!(dead.len(), 1);
    assert_eq!(dead[0].reason, DeadReason::AttemptsExhausted);
    assert!(dead[0].error.contains("as the test says"), "{}", dead[0].error);
    assert_eq!(rig.publisher.sent().len(), 3);
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_message_that_the_broker_refuses_dies_alone() {
    let rig = Rig::new();
    let bad = rig.store.stage(message("orders")).id;
    rig.publisher.fail_when(
        move |message| message.id == bad,
        Times::Always,
        failure(FailureKind::Message),
    );
    for _ in 0..30 {
        rig.store.stage(message("orders"));
    }

    let worker = rig.start();
    rig.until_empty().await;

    assert_eq!(rig.publisher.accepted().len(), 30);
    assert_eq!(rig.store.dead_letters()[0].reason, DeadReason::Rejected);
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_row_that_cannot_be_decoded_stops_nobody() {
    let rig = Rig::new();
    let broken = rig.store.stage(message("orders"));
    rig.store.damage(broken, "headers are no JSON");
    rig.store.stage(message("orders"));

    let worker = rig.start();
    rig.until_empty().await;

    assert_eq!(rig.publisher.accepted().len(), 1);
    assert_eq!(rig.store.dead_letters()[0].reason, DeadReason::Undecodable);
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_database_that_is_away_for_minutes_is_waited_for() {
    let rig = Rig::new();
    let worker = rig.start();
    rig.until("leased lanes", |store| store.lanes().len() == 64).await;
    rig.store.break_down(StoreErrorKind::Unavailable);
    rig.store.stage(message("orders"));
    rig.pass(Duration::from_mins(2)).await;

    rig.store.recover();
    rig.until_empty().await;

    assert_eq!(rig.publisher.accepted().len(), 1);
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_settlement_whose_answer_is_lost_is_repeated_without_a_second_send() {
    let rig = Rig::new();
    rig.store.lose_next_answer(StoreCall::Settle);
    rig.store.stage(message("orders"));

    let worker = rig.start();
    rig.until("a second settlement", |store| store.calls(StoreCall::Settle) >= 2).await;
    rig.store.stage(message("orders"));
    rig.accepted(2).await;
    rig.until_empty().await;

    assert_eq!(rig.publisher.arrived(), 2);
    worker.stop().await;
}

/// A client that panics on its first call.
#[derive(Debug)]
struct Panicking(Arc<dyn Publisher>, std::sync::atomic::AtomicBool);

#[async_trait]
impl Publisher for Panicking {
    fn batch_limit(&self) -> BatchLimit {
        self.0.batch_limit()
    }

    async fn publish(&self, messages: &[OutboxMessage]) -> PublishOutcomes {
        let before = self.1.swap(true, std::sync::atomic::Ordering::SeqCst);
        assert!(before, "panics as the test wants");
        self.0.publish(messages).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_publisher_that_panics_costs_an_attempt_and_no_record() {
    let rig = Rig::new();
    let record = rig.store.stage(message("orders"));
    let publisher = Panicking(Arc::new(rig.publisher.clone()), false.into());

    let worker = rig.start_with(Arc::new(publisher));
    rig.until("a failure", |store| store.pending().iter().any(|r| r.attempts == 1)).await;
    rig.until_empty().await;

    assert_eq!(rig.publisher.accepted(), [record.id]);
    worker.stop().await;
}

/// A policy may mean never.
#[derive(Debug)]
struct Never;

impl RetryPolicy for Never {
    fn decide(&self, _: FailedAttempt) -> Verdict {
        Verdict::RetryAfter(Duration::MAX)
    }
}

#[tokio::test(start_paused = true)]
async fn a_delay_without_end_ends_nothing_else() {
    let rig = Rig::new();
    rig.publisher.fail_next(failure(FailureKind::Transient));
    rig.store.stage(message("orders"));

    let worker = rig.start_under(Arc::new(rig.publisher.clone()), Arc::new(Never));
    rig.until("the failure", |store| store.pending().iter().any(|r| r.attempts == 1)).await;
    rig.store.stage(message("orders"));
    rig.accepted(1).await;

    rig.until("the first alone", |store| store.pending().len() == 1).await;
    worker.stop().await;
}
