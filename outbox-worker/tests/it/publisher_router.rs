//! The publisher that chooses among publishers.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use outbox_core::{BatchLimit, FailureKind, OutboxMessage, PublishOutcomes, Publisher, Receipt};
use outbox_worker::publisher::Router;

use crate::publisher_fixture::{numbered, words};

/// Says `name` and the message's number for each message, or leaves some verdicts out.
#[derive(Debug)]
struct Named {
    name: &'static str,
    limit: usize,
    leaves_out: usize,
    calls: Mutex<Vec<usize>>,
}

impl Named {
    fn new(name: &'static str) -> Self {
        Self { name, limit: 10, leaves_out: 0, calls: Mutex::default() }
    }
}

#[async_trait]
impl Publisher for Named {
    fn batch_limit(&self) -> BatchLimit {
        BatchLimit(NonZeroUsize::new(self.limit).unwrap())
    }

    async fn publish(&self, messages: &[OutboxMessage]) -> PublishOutcomes {
        self.calls.lock().unwrap().push(messages.len());
        let receipt = |message: &OutboxMessage| {
            let payload = str::from_utf8(&message.payload).unwrap();
            Ok(Receipt { broker_id: Some(format!("{} {payload}", self.name)) })
        };
        messages.iter().skip(self.leaves_out).map(receipt).collect()
    }
}

fn receipts(outcomes: &PublishOutcomes) -> Vec<&str> {
    outcomes.iter().map(|outcome| outcome.as_ref().unwrap().broker_id.as_deref().unwrap()).collect()
}

#[tokio::test]
async fn verdicts_stay_with_their_messages_across_transports() {
    let router = Router::new(Arc::new(Named::new("default")))
        .with_route("fast", Arc::new(Named::new("fast")));
    let mut messages = numbered(4);
    messages[1].transport = Some("fast".to_owned());
    messages[3].transport = Some("fast".to_owned());

    let outcomes = router.publish(&messages).await;

    assert_eq!(
        receipts(&outcomes),
        [r#"default {"n":0}"#, r#"fast {"n":1}"#, r#"default {"n":2}"#, r#"fast {"n":3}"#]
    );
}

#[tokio::test]
async fn messages_of_one_transport_stay_one_call() {
    let fast = Arc::new(Named::new("fast"));
    let calls = Arc::clone(&fast);
    let router = Router::new(Arc::new(Named::new("default"))).with_route("fast", fast);
    let mut messages = numbered(3);
    for message in &mut messages {
        message.transport = Some("fast".to_owned());
    }

    router.publish(&messages).await;

    assert_eq!(*calls.calls.lock().unwrap(), [3]);
}

#[tokio::test]
async fn an_unknown_transport_pauses_and_sends_nothing() {
    let default = Arc::new(Named::new("default"));
    let calls = Arc::clone(&default);
    let router = Router::new(default);
    let mut messages = numbered(1);
    messages[0].transport = Some("carrier-pigeon".to_owned());

    let outcomes = router.publish(&messages).await;

    let failure = outcomes[0].as_ref().unwrap_err();
    assert_eq!(failure.kind, FailureKind::Destination);
    assert!(failure.summary().contains("carrier-pigeon"));
    assert!(calls.calls.lock().unwrap().is_empty());
    assert!(!router.has_route(Some("carrier-pigeon")));
    assert!(router.has_route(None));
}

#[tokio::test]
async fn a_publisher_without_enough_verdicts_shifts_none_to_another_message() {
    let short = Named { leaves_out: 1, ..Named::new("short") };
    let router = Router::new(Arc::new(short)).with_route("ok", Arc::new(Named::new("ok")));
    let mut messages = numbered(3);
    messages[2].transport = Some("ok".to_owned());

    let outcomes = router.publish(&messages).await;

    assert_eq!(words(&outcomes), ["ok", "ambiguous", "ok"]);
    assert_eq!(outcomes[2].as_ref().unwrap().broker_id.as_deref(), Some(r#"ok {"n":2}"#));
}

#[test]
fn the_smallest_batch_limit_holds_for_all() {
    let router = Router::new(Arc::new(Named { limit: 100, ..Named::new("default") }))
        .with_route("narrow", Arc::new(Named { limit: 3, ..Named::new("narrow") }));

    assert_eq!(router.batch_limit().0.get(), 3);
}
