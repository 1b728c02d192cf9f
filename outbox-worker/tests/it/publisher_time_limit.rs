//! Calls of the SNS publisher whose time is up, on a clock that the tests move.

use std::num::NonZeroUsize;
use std::time::Duration;

use outbox_core::{OutboxMessage, PublishOutcomes, Publisher};
use outbox_testing::sns::{Fault, SnsStub};
use outbox_worker::publisher::sns::SnsPublisher;
use tokio::task::JoinHandle;

use crate::publisher_endpoint::{PATIENT, publisher, stub};
use crate::publisher_fixture::{numbered, words};

/// Shorter than the timeouts of the client, so that it is what ends a call.
const LIMIT: Duration = Duration::from_secs(10);
/// Timers go by whole milliseconds.
const TICK: Duration = Duration::from_millis(1);

/// A stub on a clock that stands still: a runtime that has always something to do never moves it.
async fn stub_on_a_stopped_clock() -> SnsStub {
    tokio::time::pause();
    tokio::spawn(async {
        loop {
            tokio::task::yield_now().await;
        }
    });
    stub().await
}

/// One request after the other.
fn limited(stub: &SnsStub) -> SnsPublisher {
    publisher(stub, PATIENT).with_concurrency(NonZeroUsize::MIN).with_time_limit(LIMIT)
}

fn start(publisher: SnsPublisher, messages: Vec<OutboxMessage>) -> JoinHandle<PublishOutcomes> {
    tokio::spawn(async move { publisher.publish(&messages).await })
}

/// One message for each of these topics, which are asked in the order of their names.
fn messages_to(topics: &[&str]) -> Vec<OutboxMessage> {
    let mut messages = numbered(topics.len());
    for (message, topic) in messages.iter_mut().zip(topics) {
        message.topic = (*topic).into();
    }
    messages
}

/// What a call says that has nothing to wait for any more.
async fn answered(call: JoinHandle<PublishOutcomes>) -> PublishOutcomes {
    for _ in 0..10_000 {
        if call.is_finished() {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert!(call.is_finished(), "the call goes on");
    call.await.unwrap()
}

#[tokio::test]
async fn what_sns_answered_in_time_is_not_forgotten_when_the_time_is_up() {
    let stub = stub_on_a_stopped_clock().await;
    stub.script([Fault::Pass, Fault::AcceptThenHang]);
    let messages = messages_to(&["orders", "orders.fifo", "stock"]);

    let call = start(limited(&stub), messages);
    stub.hung_at_least(1).await;
    tokio::time::advance(LIMIT + TICK).await;
    let outcomes = answered(call).await;

    assert_eq!(words(&outcomes), ["ok", "ambiguous", "transient"]);
    let unsent = outcomes[2].as_ref().unwrap_err().summary();
    assert!(unsent.starts_with("not sent: "), "{unsent}");
    assert_eq!(stub.requests().publish_batch, 2);
    assert_eq!(stub.journal().len(), 2);
}

#[tokio::test]
async fn messages_that_wait_while_the_bad_one_is_searched_for_were_surely_not_sent() {
    let stub = stub_on_a_stopped_clock().await;
    // All ten; places 0 to 4, which are then to be sent one by one; 5 to 9.
    stub.script([Fault::InvalidParameter, Fault::InvalidParameter, Fault::AcceptThenHang]);

    let call = start(limited(&stub), numbered(10));
    stub.hung_at_least(1).await;
    tokio::time::advance(LIMIT + TICK).await;
    let outcomes = answered(call).await;

    assert_eq!(words(&outcomes)[..5], ["transient"; 5]);
    assert_eq!(words(&outcomes)[5..], ["ambiguous"; 5]);
    assert_eq!(stub.requests().publish_batch, 3);
}

#[tokio::test]
async fn a_request_begins_only_if_one_as_slow_as_the_slowest_would_end_in_time() {
    for (slowest, last) in [(LIMIT * 4 / 10, "ok"), (LIMIT * 6 / 10, "transient")] {
        let stub = stub_on_a_stopped_clock().await;
        stub.script([Fault::Hang]);

        let call = start(limited(&stub), messages_to(&["orders", "stock"]));
        stub.hung_at_least(1).await;
        tokio::time::advance(slowest).await;
        stub.release_hung();
        let outcomes = answered(call).await;

        assert_eq!(words(&outcomes), ["ok", last]);
        tokio::time::resume();
    }
}

#[tokio::test]
async fn the_longest_limit_is_none() {
    let stub = stub().await;

    let outcomes =
        publisher(&stub, PATIENT).with_time_limit(Duration::MAX).publish(&numbered(1)).await;

    assert_eq!(words(&outcomes), ["ok"]);
}
