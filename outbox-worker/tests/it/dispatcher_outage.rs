//! A destination that is out of reach uses up no attempts of the records that wait for it.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use outbox_core::{FailureKind, OutboxMessage};
use outbox_testing::Times;
use outbox_worker::{BreakerState, Measurement, OutboxMetrics};

use crate::rig::{Rig, Worker, failure, message};

const RECORDS: usize = 500;

/// With so few attempts that a minute of retries would kill all of them.
fn rig() -> Rig {
    let mut rig = Rig::new();
    rig.retry.max_attempts = NonZeroU32::new(5);
    rig.retry.cap = Duration::from_secs(2);
    // So that few of them are in flight when the breaker opens.
    rig.settings.concurrency = NonZeroUsize::MIN;
    rig
}

#[derive(Debug, Default)]
struct Breaker(Mutex<Vec<BreakerState>>);

impl OutboxMetrics for Breaker {
    fn measure(&self, measurement: &Measurement<'_>) {
        if let Measurement::Breaker { state, .. } = measurement {
            self.0.lock().unwrap().push(*state);
        }
    }
}

fn start(rig: &Rig, breaker: &Arc<Breaker>) -> Worker {
    let publisher = Arc::new(rig.publisher.clone());
    let retry = Arc::new(rig.retry.clone());
    Worker::of(rig.dispatcher(publisher).retry(retry).metrics(Arc::clone(breaker) as Arc<_>))
}

/// A broker that refuses connections, and one that takes them and never answers.
#[tokio::test(start_paused = true)]
async fn an_outage_of_minutes_kills_nobody() {
    for kind in [FailureKind::Transient, FailureKind::Ambiguous] {
        let rig = rig();
        rig.publisher.fail_when(|_| true, Times::Always, failure(kind));
        for _ in 0..RECORDS {
            rig.store.stage(message("orders"));
        }
        let breaker = Arc::new(Breaker::default());
        let worker = start(&rig, &breaker);
        rig.pass(Duration::from_mins(5)).await;

        let tried = rig.store.pending().iter().filter(|record| record.attempts > 0).count();
        rig.publisher.recover();
        let sent = rig.accepted(RECORDS).await;
        rig.until_empty().await;

        assert_eq!(sent.len(), RECORDS, "{kind:?}");
        assert!(rig.store.dead_letters().is_empty(), "{kind:?}");
        assert!(tried < RECORDS / 4, "{tried} were tried during the outage");
        assert_eq!(breaker.0.lock().unwrap().last(), Some(&BreakerState::Closed));
        worker.stop().await;
    }
}

/// It dies, as it should, and the others do not notice.
#[tokio::test(start_paused = true)]
async fn a_record_that_always_fails_opens_no_breaker() {
    let rig = rig();
    let poison = rig.store.stage(message("orders")).id;
    let is_poison = move |message: &OutboxMessage| message.id == poison;
    rig.publisher.fail_when(is_poison, Times::Always, failure(FailureKind::Transient));
    let breaker = Arc::new(Breaker::default());
    let worker = start(&rig, &breaker);

    for _ in 0..RECORDS {
        rig.store.stage(message("orders"));
        rig.pass(Duration::from_millis(100)).await;
    }
    rig.accepted(RECORDS).await;
    rig.until("a dead letter", |store| store.dead_letters().len() == 1).await;

    assert_eq!(*breaker.0.lock().unwrap(), []);
    worker.stop().await;
}

/// The last one of a topic: nothing else tells whether its destination is out of reach.
#[tokio::test(start_paused = true)]
async fn a_lone_record_that_always_fails_dies() {
    let rig = rig();
    rig.store.stage(message("orders"));
    rig.publisher.fail_when(|_| true, Times::Always, failure(FailureKind::Transient));
    let breaker = Arc::new(Breaker::default());
    let worker = start(&rig, &breaker);

    rig.until("a dead letter", |store| store.dead_letters().len() == 1).await;

    assert_eq!(*breaker.0.lock().unwrap(), []);
    worker.stop().await;
}
