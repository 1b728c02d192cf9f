//! A destination that fails is left alone, and its records wait untouched.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use outbox_core::{FailureKind, OutboxMessage, WakeSource};
use outbox_testing::Times;
use outbox_worker::WakeSignal;
use outbox_worker::publisher::Router;

use crate::rig::{Rig, failure, message, ordered};

/// A slip of the broker's must neither end the worker nor stop a topic for good.
#[tokio::test(start_paused = true)]
async fn a_broker_that_asks_to_wait_for_ever_is_asked_again_soon() {
    use FailureKind::{Credentials, Destination, Throttled, Transient};
    for kind in [Credentials, Destination, Throttled, Transient] {
        let rig = Rig::new();
        let mut endless = failure(kind);
        endless.retry_after = Some(Duration::MAX);
        rig.publisher.fail_next(endless);
        rig.store.stage(message("orders"));
        let worker = rig.start();
        rig.pass(Duration::from_mins(20)).await;

        assert!(rig.store.pending().is_empty(), "{kind:?}");
        worker.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_throttled_record_waits_uncounted() {
    let rig = Rig::new();
    rig.publisher.fail_when(|_| true, Times::First(6), failure(FailureKind::Throttled));
    rig.store.stage(message("orders"));

    let worker = rig.start();
    rig.publisher.sent_at_least(3).await;
    assert_eq!(rig.store.pending()[0].attempts, 0);
    assert_eq!(rig.store.pending()[0].revision, 0);
    rig.until_empty().await;

    assert_eq!(worker.figures.failed(FailureKind::Throttled), 6);
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_broken_topic_pauses_alone_and_is_probed_with_one_record() {
    let rig = Rig::new();
    let broken = |message: &outbox_core::OutboxMessage| &*message.topic == "broken";
    rig.publisher.fail_when(broken, Times::Always, failure(FailureKind::Destination));
    for _ in 0..50 {
        rig.store.stage(message("broken"));
        rig.store.stage(message("orders"));
    }

    let worker = rig.start();
    rig.accepted(50).await;
    rig.pass(Duration::from_mins(5)).await;
    rig.until("only the broken topic", |store| store.pending().len() == 50).await;
    let probes = failed_calls(&rig);
    rig.publisher.recover();
    rig.until_empty().await;

    let (last, sizes) = probes.split_last().unwrap();
    assert_eq!(*last, 1, "a probe is one record: {sizes:?}");
    assert!(probes.len() < 60, "{} calls in five minutes", probes.len());
    assert!(rig.store.dead_letters().is_empty());
    assert_eq!(rig.publisher.accepted().len(), 100);
    worker.stop().await;
}

/// How many messages each failed call carried.
fn failed_calls(rig: &Rig) -> Vec<usize> {
    let mut sizes: Vec<(usize, usize)> = Vec::new();
    for sent in rig.publisher.sent().iter().filter(|sent| !sent.was_accepted()) {
        match sizes.last_mut() {
            Some((call, size)) if *call == sent.call => *size += 1,
            _ => sizes.push((sent.call, 1)),
        }
    }
    sizes.into_iter().map(|(_, size)| size).collect()
}

#[tokio::test(start_paused = true)]
async fn refused_credentials_pause_every_topic_and_kill_nothing() {
    let rig = Rig::new();
    rig.publisher.fail_when(|_| true, Times::Always, failure(FailureKind::Credentials));
    for topic in ["orders", "stock", "reports"] {
        rig.store.stage(message(topic));
    }

    let worker = rig.start();
    rig.publisher.sent_at_least(1).await;
    rig.pass(Duration::from_mins(10)).await;
    let calls = rig.publisher.sent().len();
    rig.publisher.recover();
    rig.until_empty().await;

    assert!(calls < 80, "{calls} sends in ten minutes");
    assert!(rig.store.dead_letters().is_empty());
    assert_eq!(rig.publisher.accepted().len(), 3);
    worker.stop().await;
}

/// Whatever a probe runs into, the worker goes on to probe.
#[tokio::test(start_paused = true)]
async fn failures_of_several_kinds_in_a_row_stop_nothing_for_ever() {
    use FailureKind::{Ambiguous, Credentials, Destination, Throttled};

    let kinds = [Credentials, Destination, Credentials, Throttled, Ambiguous, Credentials];
    for start in 0..kinds.len() {
        let rig = Rig::new();
        let cycle = kinds.iter().cycle().skip(start).take(kinds.len());
        rig.publisher.script(cycle.map(|kind| Err(failure(*kind))));
        for topic in ["orders", "stock"] {
            rig.store.stage(message(topic));
        }

        let worker = rig.start();
        rig.until_empty().await;

        assert_eq!(rig.publisher.accepted().len(), 2, "from {:?}", kinds[start]);
        worker.stop().await;
    }
}

/// As when a newer application names a publisher that this worker does not have yet.
#[tokio::test(start_paused = true)]
async fn an_unknown_transport_holds_back_its_own_records_alone() {
    let rig = Rig::new();
    let router = Router::new(Arc::new(rig.publisher.clone()));
    for _ in 0..5 {
        rig.store.stage(foreign(message("orders")));
        rig.store.stage(message("orders"));
    }

    let worker = rig.start_with(Arc::new(router));
    rig.accepted(5).await;
    rig.pass(Duration::from_mins(5)).await;
    rig.store.stage(message("orders"));
    rig.accepted(6).await;

    rig.until("only the foreign ones", |store| store.pending().len() == 5).await;
    assert!(rig.store.pending().iter().all(|record| record.attempts == 0));
    assert!(rig.store.dead_letters().is_empty());
    worker.stop().await;
}

/// For a transport that this worker lacks.
fn foreign(mut message: OutboxMessage) -> OutboxMessage {
    message.transport = Some("pigeon".to_owned());
    message
}

/// However many there are: the keys of the topic go on, before and after.
#[tokio::test(start_paused = true)]
async fn records_without_a_key_of_an_unknown_transport_hold_back_no_key_of_their_topic() {
    for count in [1, 5000] {
        let rig = Rig::new();
        let router = Router::new(Arc::new(rig.publisher.clone()));
        for _ in 0..count {
            rig.store.stage(foreign(message("orders")));
        }
        for number in 0..KEYS {
            rig.store.stage(ordered("orders", &number.to_string()));
        }

        let worker = rig.start_with(Arc::new(router));
        rig.accepted(KEYS).await;
        rig.pass(Duration::from_mins(5)).await;
        for number in 0..KEYS {
            rig.store.stage(ordered("orders", &number.to_string()));
        }
        rig.accepted(2 * KEYS).await;

        rig.until("only the foreign ones", |store| store.pending().len() == count).await;
        worker.stop().await;
    }
}

/// A key whose first record is of a transport that this worker lacks waits as a whole, for it is in
/// order; no other one does.
#[tokio::test(start_paused = true)]
async fn an_ordered_record_of_an_unknown_transport_holds_back_its_key_alone() {
    let rig = Rig::new();
    let router = Router::new(Arc::new(rig.publisher.clone()));
    rig.store.stage(foreign(ordered("orders", "7")));
    rig.store.stage(foreign(message("orders")));
    let worker = rig.start_with(Arc::new(router));
    rig.pass(Duration::from_mins(5)).await;

    for number in 0..KEYS {
        rig.store.stage(ordered("orders", &number.to_string()));
    }
    let sent = rig.accepted(KEYS - 1).await;
    rig.pass(Duration::from_mins(5)).await;

    assert_eq!(sent.len(), KEYS - 1);
    let pending = rig.store.pending();
    let of_key =
        pending.iter().filter(|record| record.message.ordering_key.as_deref() == Some("7"));
    assert_eq!((pending.len(), of_key.count()), (3, 2));
    worker.stop().await;
}

const KEYS: usize = 40;

#[tokio::test(start_paused = true)]
async fn a_worker_that_is_woken_looks_at_once() {
    let mut rig = Rig::new();
    rig.settings.idle_poll = Duration::from_hours(1);
    let signal = WakeSignal::new();
    let worker = rig.start_woken_by(Arc::new(signal.clone()));
    // By then it looks by itself once a minute, and ever more rarely.
    rig.pass(Duration::from_mins(2)).await;

    rig.store.stage(message("orders"));
    let rung = tokio::time::Instant::now();
    signal.notify();
    rig.accepted(1).await;

    assert!(rung.elapsed() < Duration::from_millis(100), "{:?}", rung.elapsed());
    worker.stop().await;
}

/// Rings never, and counts how often the worker listens: once in each turn of its loop.
#[derive(Debug, Default)]
struct Turns(AtomicUsize);

#[async_trait]
impl WakeSource for Turns {
    async fn woken(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        std::future::pending::<()>().await;
    }
}

/// Its time has come, but there is no room among the calls.
#[tokio::test(start_paused = true)]
async fn a_paused_topic_that_waits_for_a_call_to_end_keeps_nobody_busy() {
    let mut rig = Rig::new();
    rig.settings.concurrency = NonZeroUsize::MIN;
    let broken = |message: &OutboxMessage| &*message.topic == "broken";
    rig.publisher.fail_when(broken, Times::Always, failure(FailureKind::Destination));
    rig.store.stage(message("broken"));
    let turns = Arc::new(Turns::default());
    let worker = rig.start_woken_by(turns.clone());
    rig.publisher.sent_at_least(1).await;
    let gate = rig.publisher.hold();
    rig.store.stage(message("orders"));
    rig.publisher.arrived_at_least(2).await;
    // The longest first pause of a topic is over then.
    rig.pass(Duration::from_secs(2)).await;

    let before = turns.0.load(Ordering::Relaxed);
    rig.pass(Duration::from_secs(5)).await;
    let made = turns.0.load(Ordering::Relaxed) - before;

    assert!(made < 200, "{made} turns in five seconds");
    gate.release();
    worker.stop().await;
}
