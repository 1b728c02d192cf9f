//! The publisher that does as the test says.

use std::num::NonZeroUsize;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{join, join3};
use outbox_core::{EventId, Failure, FailureKind, OutboxMessage, Publisher, Receipt};
use outbox_testing::{ManualClock, ScriptedPublisher, Times};

use crate::memory_soon::soon;

#[tokio::test]
async fn every_message_is_accepted_unless_told_otherwise() {
    let publisher = ScriptedPublisher::new();
    let messages = [message("orders.placed"), message("orders.cancelled")];

    let verdicts = publisher.publish(&messages).await;

    assert_eq!(verdicts, [Ok(Receipt::default()), Ok(Receipt::default())]);
    assert_eq!(publisher.accepted(), messages.map(|message| message.id));
}

#[tokio::test]
async fn the_journal_tells_what_was_sent_when_and_in_which_call() {
    let clock = ManualClock::new();
    let publisher = ScriptedPublisher::with_clock(&clock);
    let mut ordered = message("orders.placed");
    ordered.ordering_key = Some("order-1".to_owned());
    publisher.publish(std::slice::from_ref(&ordered)).await;
    clock.advance(Duration::from_secs(1));

    publisher.publish(&[message("orders.cancelled")]).await;

    let sent = publisher.sent();
    assert_eq!((sent[0].id, sent[0].key.as_deref()), (ordered.id, Some("order-1")));
    assert_eq!((&*sent[1].event_type, &*sent[1].topic), ("orders.cancelled", "orders"));
    assert_eq!((sent[0].call, sent[1].call), (1, 2));
    assert_eq!(sent[1].at - sent[0].at, chrono::TimeDelta::seconds(1));
}

#[tokio::test]
async fn scripted_verdicts_go_to_messages_in_the_order_of_sending() {
    let publisher = ScriptedPublisher::new();
    let receipt = Receipt { broker_id: Some("broker-1".to_owned()) };
    publisher.script([Ok(receipt.clone()), Err(failure())]);

    let first = publisher.publish(&[message("a"), message("b")]).await;
    let second = publisher.publish(&[message("c")]).await;

    assert_eq!(first, [Ok(receipt), Err(failure())]);
    assert_eq!(second, [Ok(Receipt::default())]);
}

#[tokio::test]
async fn a_rule_fails_the_type_that_it_names_as_often_as_it_says() {
    let publisher = ScriptedPublisher::new();
    publisher.fail_type("orders.placed", Times::First(2), failure());

    let other = publisher.publish(&[message("orders.cancelled")]).await;
    let named = publisher.publish(&[(); 3].map(|()| message("orders.placed"))).await;

    assert!(other[0].is_ok());
    assert_eq!(named.iter().map(Result::is_err).collect::<Vec<_>>(), [true, true, false]);
}

#[tokio::test]
async fn a_rule_may_look_at_the_whole_message() {
    let publisher = ScriptedPublisher::new();
    let poison = message("orders.placed");
    let id = poison.id;
    publisher.fail_when(move |message| message.id == id, Times::Always, failure());

    let verdicts = publisher.publish(&[message("orders.placed"), poison]).await;

    assert_eq!(verdicts.iter().map(Result::is_err).collect::<Vec<_>>(), [false, true]);
}

#[tokio::test]
async fn recovery_ends_all_failures() {
    let publisher = ScriptedPublisher::new();
    publisher.fail_type("orders.placed", Times::Always, failure());
    publisher.fail_next(failure());

    publisher.recover();

    assert!(publisher.publish(&[message("orders.placed")]).await[0].is_ok());
}

#[tokio::test]
async fn a_held_call_has_arrived_but_is_not_sent() {
    let publisher = ScriptedPublisher::new();
    let gate = publisher.hold();
    let messages = [message("orders.placed"), message("orders.placed")];

    let (verdicts, (arrived, sent)) = soon(join(publisher.publish(&messages), async {
        publisher.arrived_at_least(2).await;
        gate.arrived().await;
        let seen = (publisher.arrived(), publisher.sent().len());
        gate.release();
        seen
    }))
    .await;

    assert_eq!((arrived, sent), (2, 0));
    assert_eq!(verdicts.len(), 2);
    assert_eq!(publisher.sent().len(), 2);
}

#[tokio::test]
async fn a_gate_holds_only_what_it_was_made_for() {
    let publisher = ScriptedPublisher::new();
    let _gate = publisher.hold_when(|message| &*message.topic == "payments");
    let mut held = message("payments.done");
    held.topic = "payments".into();
    let held = [held];
    let mut waits = Box::pin(publisher.publish(&held));

    soon(publisher.publish(&[message("orders.placed")])).await;

    assert!((&mut waits).now_or_never().is_none());
    assert_eq!(publisher.sent().len(), 1);
}

#[tokio::test]
async fn a_dropped_call_is_not_in_the_journal() {
    let publisher = ScriptedPublisher::new();
    let gate = publisher.hold();
    let messages = [message("orders.placed")];
    let mut dropped = Box::pin(publisher.publish(&messages));
    assert!((&mut dropped).now_or_never().is_none());

    drop(dropped);
    gate.release();

    assert_eq!(publisher.arrived(), 1);
    assert_eq!(publisher.sent(), []);
}

#[tokio::test]
async fn sends_can_be_awaited_by_their_number() {
    let publisher = ScriptedPublisher::new();
    publisher.fail_next(failure());

    let (sent, accepted, ()) =
        soon(join3(publisher.sent_at_least(2), publisher.accepted_at_least(2), async {
            publisher.publish(&[message("a"), message("b")]).await;
            publisher.publish(&[message("c")]).await;
        }))
        .await;

    assert!(sent.len() >= 2);
    assert_eq!(accepted.len(), 2);
}

#[test]
fn the_batch_limit_is_that_of_sns_unless_set() {
    let publisher = ScriptedPublisher::new();

    let smaller = publisher.clone().with_batch_limit(NonZeroUsize::MIN);

    assert_eq!(publisher.batch_limit().0.get(), 10);
    assert_eq!(smaller.batch_limit().0.get(), 1);
}

fn failure() -> Failure {
    Failure::new(FailureKind::Transient, "broker is away")
}

fn message(event_type: &str) -> OutboxMessage {
    OutboxMessage::new(EventId::new(), event_type, "orders", "shop", Bytes::from_static(b"{}"))
}
