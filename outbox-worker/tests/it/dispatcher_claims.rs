//! Records that others hold by claims of their own are left alone.

use std::time::Duration;

use outbox_core::{
    Failure, FailureKind, LeaseTime, RecordClaim, RecordClaims, RecordRef, StoreErrorKind, WorkerId,
};
use outbox_testing::{CommitOrder, StoreCall};

use crate::rig::{Rig, failure, message, ordered, within};

const MINUTE: Duration = Duration::from_mins(1);
const COMMITS: [CommitOrder; 3] =
    [CommitOrder::Numbered, CommitOrder::Ordered, CommitOrder::Unknown];

async fn claim(rig: &Rig, record: RecordRef) -> RecordClaim {
    let minute = LeaseTime::new(MINUTE).unwrap();
    rig.store.try_claim(&record, WorkerId::new(), minute).await.unwrap().unwrap()
}

/// Returns once the store was asked about claims so often.
async fn asked(rig: &Rig, times: usize) {
    within("a question", rig.store.called_at_least(StoreCall::Acquired, times)).await;
}

#[tokio::test(start_paused = true)]
async fn a_claimed_record_is_sent_once_its_claim_is_over_and_the_others_at_once() {
    for commits in COMMITS {
        let rig = Rig::with_commits(commits);
        let claimed = rig.store.stage(message("orders"));
        let claim = claim(&rig, claimed).await;
        let start = rig.clock.now();
        for _ in 0..20 {
            rig.store.stage(message("orders"));
        }

        let worker = rig.start();
        let others = rig.accepted(20).await;
        let all = rig.accepted(21).await;

        assert!(!others.contains(&claimed.id));
        assert_eq!(all.last(), Some(&claimed.id));
        let sent = rig.publisher.sent().pop().unwrap();
        let waited = (sent.at - start).to_std().unwrap();
        assert!(waited >= MINUTE, "sent after {waited:?}");
        assert!(waited < MINUTE + Duration::from_secs(10), "sent after {waited:?}");
        assert!(!rig.store.complete_claim(&claim).await.unwrap());
        rig.until_empty().await;
        worker.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_renewed_claim_is_waited_for() {
    let rig = Rig::new();
    let claimed = rig.store.stage(message("orders"));
    let claim = claim(&rig, claimed).await;
    let start = rig.clock.now();
    let worker = rig.start();
    rig.pass(MINUTE / 2).await;

    let five = LeaseTime::new(MINUTE * 5).unwrap();
    assert!(rig.store.renew_claim(&claim, five).await.unwrap());
    rig.accepted(1).await;

    let waited = (rig.publisher.sent()[0].at - start).to_std().unwrap();
    assert!(waited >= MINUTE * 5, "sent after {waited:?}");
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_record_whose_claim_was_completed_is_never_sent_and_holds_up_nobody() {
    for commits in COMMITS {
        let rig = Rig::with_commits(commits);
        let first = rig.store.stage(ordered("orders", "key"));
        let claim = claim(&rig, first).await;
        let second = rig.store.stage(ordered("orders", "key"));
        let worker = rig.start();
        rig.pass(MINUTE / 2).await;
        assert_eq!(rig.publisher.arrived(), 0, "a record of the key overtook the claimed one");

        assert!(rig.store.complete_claim(&claim).await.unwrap());
        rig.until_empty().await;

        assert_eq!(rig.publisher.accepted(), [second.id]);
        worker.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_record_whose_claim_is_over_goes_before_the_later_ones_of_its_key() {
    for commits in COMMITS {
        let rig = Rig::with_commits(commits);
        let first = rig.store.stage(ordered("orders", "key"));
        let second = rig.store.stage(ordered("orders", "key"));
        let third = rig.store.stage(ordered("orders", "key"));
        claim(&rig, second).await;

        let worker = rig.start();
        let accepted = rig.accepted(3).await;

        assert_eq!(accepted, [first.id, second.id, third.id]);
        worker.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_record_whose_claim_failed_is_tried_again_before_the_later_ones_of_its_key() {
    for commits in COMMITS {
        let rig = Rig::with_commits(commits);
        let first = rig.store.stage(ordered("orders", "key"));
        let claim = claim(&rig, first).await;
        let second = rig.store.stage(ordered("orders", "key"));
        let worker = rig.start();
        rig.until("leased lanes", |store| store.lanes().len() == 64).await;
        let failure = Failure::new(FailureKind::Transient, "no route");

        assert!(rig.store.fail_claim(&claim, &failure, MINUTE * 2).await.unwrap());
        let failed_at = rig.clock.now();
        let accepted = rig.accepted(2).await;

        assert_eq!(accepted, [first.id, second.id]);
        let waited = (rig.publisher.sent()[0].at - failed_at).to_std().unwrap();
        assert!(waited >= MINUTE * 2, "sent after {waited:?}");
        worker.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_record_is_left_alone_while_the_store_does_not_say_that_its_claim_is_over() {
    let rig = Rig::new();
    let claimed = rig.store.stage(ordered("orders", "key"));
    claim(&rig, claimed).await;
    let second = rig.store.stage(ordered("orders", "key"));
    let worker = rig.start();
    rig.until("leased lanes", |store| store.lanes().len() == 64).await;
    asked(&rig, 1).await;
    for _ in 0..10 {
        rig.store.lose_next_answer(StoreCall::Acquired);
    }
    asked(&rig, 11).await;
    assert_eq!(rig.publisher.arrived(), 0, "sent without knowing that the claim is over");

    let accepted = rig.accepted(2).await;

    assert_eq!(accepted, [claimed.id, second.id]);
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_read_that_fails_does_not_let_a_key_go_on_without_the_claimed_record() {
    let rig = Rig::new();
    let first = rig.store.stage(ordered("orders", "key"));
    claim(&rig, first).await;
    let second = rig.store.stage(ordered("orders", "key"));
    let worker = rig.start();
    rig.pass(MINUTE / 2).await;
    let reads = rig.store.pause(StoreCall::Read);
    within("a read", reads.arrived()).await;
    for _ in 0..30 {
        rig.store.fail_next(StoreCall::Read, StoreErrorKind::Unavailable);
    }
    reads.release();

    let accepted = rig.accepted(2).await;

    assert_eq!(accepted, [first.id, second.id]);
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_in_a_key_whose_record_fails_elsewhere_keeps_the_order() {
    let rig = Rig::new();
    let first = rig.store.stage(ordered("orders", "key"));
    let second = rig.store.stage(ordered("orders", "key"));
    let third = rig.store.stage(ordered("orders", "key"));
    claim(&rig, second).await;
    rig.publisher.fail_next(failure(FailureKind::Transient));

    let worker = rig.start();
    let accepted = rig.accepted(3).await;

    assert_eq!(accepted, [first.id, second.id, third.id]);
    worker.stop().await;
}
