//! How much is sent at once to a topic that asks for less or does not answer.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use outbox_core::{BatchLimit, FailureKind, OutboxMessage, PublishOutcomes, Publisher, Receipt};
use tokio::time::{Instant, timeout};

use crate::rig::{Rig, failure, message};

const ONE: NonZeroUsize = NonZeroUsize::MIN;
const CALLS: usize = 32;

/// A broker with topics that take so many calls at once, each for so long.
#[derive(Debug, Default)]
struct Broker {
    topics: Mutex<BTreeMap<String, Topic>>,
}

#[derive(Clone, Copy, Debug)]
struct Topic {
    most: usize,
    takes: Duration,
    in_flight: usize,
    highest: usize,
    accepted: usize,
    throttled: usize,
}

impl Broker {
    fn open(&self, topic: &str, most: usize, takes: Duration) {
        let mut topics = self.topics.lock().unwrap();
        let old = topics.get(topic).map_or((0, 0, 0), |t| (t.in_flight, t.accepted, t.throttled));
        let (in_flight, accepted, throttled) = old;
        let open = Topic { most, takes, in_flight, highest: 0, accepted, throttled };
        topics.insert(topic.to_owned(), open);
    }

    fn of(&self, topic: &str) -> Topic {
        self.topics.lock().unwrap()[topic]
    }

    fn begin(&self, topic: &str) -> Option<Duration> {
        let mut topics = self.topics.lock().unwrap();
        let topic = topics.get_mut(topic).unwrap();
        if topic.in_flight >= topic.most {
            topic.throttled += 1;
            return None;
        }
        topic.in_flight += 1;
        topic.highest = topic.highest.max(topic.in_flight);
        Some(topic.takes)
    }

    fn end(&self, topic: &str, messages: usize) {
        let mut topics = self.topics.lock().unwrap();
        let topic = topics.get_mut(topic).unwrap();
        topic.in_flight -= 1;
        topic.accepted += messages;
    }
}

#[async_trait]
impl Publisher for Broker {
    fn batch_limit(&self) -> BatchLimit {
        BatchLimit(ONE)
    }

    async fn publish(&self, messages: &[OutboxMessage]) -> PublishOutcomes {
        let topic = &*messages[0].topic;
        let Some(takes) = self.begin(topic) else {
            return vec![Err(failure(FailureKind::Throttled)); messages.len()];
        };
        // The paused clock of the test moves on: it does not sleep.
        let answered = timeout(takes, std::future::pending::<()>()).await;
        self.end(topic, messages.len());
        assert!(answered.is_err());
        messages.iter().map(|_| Ok(Receipt::default())).collect()
    }
}

fn stage(rig: &Rig, topic: &str, records: usize) {
    stage_large(rig, topic, records, 2);
}

fn stage_large(rig: &Rig, topic: &str, records: usize, bytes: usize) {
    let payload = Bytes::from(vec![b'1'; bytes]);
    for _ in 0..records {
        let mut message = message(topic);
        message.payload = payload.clone();
        rig.store.stage(message);
    }
}

/// How long it takes until so many records of this topic have left the outbox.
async fn sent(rig: &Rig, topic: &str) -> Duration {
    let began = Instant::now();
    let left = |record: &outbox_core::OutboxRecord| &*record.message.topic == topic;
    rig.until("all of a topic", |store| !store.pending().iter().any(left)).await;
    began.elapsed()
}

const CALL: Duration = Duration::from_millis(100);

#[tokio::test(start_paused = true)]
async fn a_topic_that_throttles_is_sent_nearly_as_much_as_it_takes() {
    let rig = Rig::new();
    let broker = Arc::new(Broker::default());
    broker.open("orders", 8, CALL);
    stage(&rig, "orders", 800);
    let worker = rig.start_with(broker.clone());

    let took = sent(&rig, "orders").await;

    let topic = broker.of("orders");
    let best = CALL * 800 / 8;
    assert!(took < best * 2, "{took:?}, at best {best:?}");
    assert!(topic.throttled < topic.accepted / 10, "{topic:?}");
    assert!(rig.store.dead_letters().is_empty());
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_topic_that_throttles_no_more_is_sent_all_that_may_be() {
    let rig = Rig::new();
    let broker = Arc::new(Broker::default());
    broker.open("orders", 2, CALL);
    stage(&rig, "orders", 100);
    let worker = rig.start_with(broker.clone());
    sent(&rig, "orders").await;

    broker.open("orders", usize::MAX, CALL);
    stage(&rig, "orders", 1000);
    sent(&rig, "orders").await;

    assert_eq!(broker.of("orders").highest, CALLS);
    worker.stop().await;
}

/// The time for another topic beside this one, over its time alone.
async fn slowed_by(most: usize, takes: Duration) -> f64 {
    slowed_by_large(most, takes, 900, 2).await
}

async fn slowed_by_large(most: usize, takes: Duration, records: usize, bytes: usize) -> f64 {
    let mut times = Vec::new();
    for beside in [0, records] {
        let mut rig = Rig::new();
        rig.settings.held_records = NonZeroUsize::new(400).unwrap();
        let broker = Arc::new(Broker::default());
        broker.open("ill", most, takes);
        broker.open("well", usize::MAX, CALL);
        stage_large(&rig, "ill", beside, bytes);
        let worker = rig.start_with(broker.clone());
        for _ in 0..12 {
            rig.pass(Duration::from_secs(5)).await;
            stage(&rig, "well", 1);
        }
        stage(&rig, "well", 500);
        times.push(sent(&rig, "well").await);
        worker.kill();
    }
    times[1].as_secs_f64() / times[0].as_secs_f64()
}

#[tokio::test(start_paused = true)]
async fn a_topic_that_takes_one_call_at_a_time_slows_no_other() {
    let slowed = slowed_by(1, CALL).await;

    assert!(slowed < 2.0, "{slowed}");
}

#[tokio::test(start_paused = true)]
async fn a_topic_that_takes_nothing_slows_no_other() {
    let slowed = slowed_by(0, CALL).await;

    assert!(slowed < 2.0, "{slowed}");
}

#[tokio::test(start_paused = true)]
async fn a_topic_that_never_answers_slows_no_other() {
    let slowed = slowed_by(usize::MAX, Duration::from_hours(1)).await;

    assert!(slowed < 2.0, "{slowed}");
}

/// As when a topic is healthy but far away.
#[tokio::test(start_paused = true)]
async fn a_topic_that_answers_late_leaves_calls_for_the_others() {
    let slowed = slowed_by(usize::MAX, Duration::from_secs(5)).await;

    assert!(slowed < 3.0, "{slowed}");
}

/// What is in flight to it takes a part of the bytes alone.
#[tokio::test(start_paused = true)]
async fn a_topic_that_answers_late_leaves_bytes_for_the_others() {
    let slowed = slowed_by_large(usize::MAX, Duration::from_secs(5), 200, 1024 * 1024).await;

    assert!(slowed < 3.0, "{slowed}");
}
