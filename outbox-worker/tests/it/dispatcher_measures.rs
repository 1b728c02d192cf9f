//! What a dispatcher counts and measures, and what it says of its health.

use std::num::NonZeroU8;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use outbox_core::{Count, DeadReason, FailureKind, OutboxMessage, StoreErrorKind};
use outbox_testing::{StoreCall, Times};
use outbox_worker::{BreakerState, Dispatcher, Health, Measurement, OutboxMetrics};

use crate::rig::{Rig, Worker, failure, message, ordered};

/// Writes down what it hears.
#[derive(Debug, Default)]
struct Recorder(Mutex<Vec<String>>);

impl OutboxMetrics for Recorder {
    fn measure(&self, measurement: &Measurement<'_>) {
        let line = match *measurement {
            Measurement::Accepted { topic, lag } => format!("accepted {topic} {}", lag.as_secs()),
            Measurement::Breaker { topic, state, .. } => {
                format!("breaker {} {}", topic.unwrap_or("credentials"), state.as_str())
            }
            Measurement::Called { topic, messages, took } => {
                format!("called {topic} {messages} {}", took.as_secs())
            }
            Measurement::Dead { reason } => format!("dead {reason}"),
            Measurement::Failed { topic, kind } => format!("failed {topic} {kind}"),
            Measurement::Holding { lanes, records, calls, .. } => {
                format!("holding {lanes} {records} {calls}")
            }
            Measurement::Parked => "parked".to_owned(),
            Measurement::Published => "published".to_owned(),
            Measurement::Read { records, .. } => format!("read {records}"),
            Measurement::Settled { outcomes, .. } => format!("settled {outcomes}"),
            Measurement::Stats(stats) => format!("stats {}", stats.ready),
            Measurement::Store { phase, works } => format!("store {phase} {works}"),
            _ => format!("{measurement:?}"),
        };
        self.0.lock().unwrap().push(line);
    }
}

impl Recorder {
    fn count(&self, line: &str) -> usize {
        self.0.lock().unwrap().iter().filter(|heard| *heard == line).count()
    }

    /// Lines that begin like this, in order.
    fn with(&self, begin: &str) -> Vec<String> {
        let heard = self.0.lock().unwrap();
        heard.iter().filter(|line| line.starts_with(begin)).cloned().collect()
    }
}

fn start(rig: &Rig) -> (Worker, Arc<Recorder>, Arc<Health>) {
    let recorder = Arc::new(Recorder::default());
    let builder = rig.dispatcher(Arc::new(rig.publisher.clone())).metrics(recorder.clone());
    let dispatcher: Dispatcher = builder.build().unwrap();
    let health = dispatcher.health();
    (Worker::run(dispatcher), recorder, health)
}

#[tokio::test(start_paused = true)]
async fn every_step_of_a_record_is_told() {
    let rig = Rig::new();
    rig.publisher.script([Err(failure(FailureKind::Message))]);
    rig.store.stage(ordered("orders", "7"));
    rig.store.stage(ordered("orders", "7"));
    let gate = rig.publisher.hold();
    rig.store.stage(message("stock"));

    let (worker, recorder, _) = start(&rig);
    rig.publisher.arrived_at_least(2).await;
    rig.pass(Duration::from_secs(6)).await;
    gate.release();
    rig.until("all settled", |store| store.pending().is_empty()).await;
    worker.stop().await;

    // Which of the two calls came first is open, so one of them failed and one was accepted.
    let failed = [recorder.count("failed orders message"), recorder.count("failed stock message")];
    assert_eq!(failed.iter().sum::<usize>(), 1);
    assert_eq!(recorder.count(&format!("dead {}", DeadReason::Rejected)), 1);
    assert!(recorder.count("called orders 1 6") == 1);
    assert_eq!(recorder.count("called stock 1 6"), 1);
    let settled = recorder.count("published") + recorder.count("parked");
    assert_eq!(settled, 2, "of three records one is dead");
    assert!(recorder.with("read ").iter().any(|line| line != "read 0"));
    assert!(!recorder.with("settled ").is_empty());
    assert!(recorder.with("holding 64 ").iter().any(|line| line.ends_with(" 2")), "two in flight");
}

#[tokio::test(start_paused = true)]
async fn the_lag_of_a_scheduled_message_counts_from_when_it_was_due() {
    let rig = Rig::new();
    let mut old = message("orders");
    old.occurred_at -= Duration::from_secs(100);
    rig.store.stage(old);
    let (worker, recorder, _) = start(&rig);

    rig.accepted(1).await;
    rig.until_empty().await;

    assert_eq!(recorder.with("accepted").len(), 1);
    // The machine's clock moves too while the test runs.
    let lag: u64 = recorder.with("accepted")[0].split(' ').nth(2).unwrap().parse().unwrap();
    assert!((100..160).contains(&lag), "{lag}");
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn each_change_of_a_breaker_is_told_once_and_shown_in_health() {
    let mut rig = Rig::new();
    let broken = |message: &OutboxMessage| &*message.topic == "broken";
    rig.publisher.fail_when(broken, Times::First(6), failure(FailureKind::Destination));
    // All in one call.
    rig.settings.readers = NonZeroU8::MIN;
    let (worker, recorder, health) = start(&rig);
    rig.pass(Duration::from_secs(1)).await;
    for _ in 0..5 {
        rig.store.stage(message("broken"));
    }

    rig.publisher.sent_at_least(1).await;
    rig.pass(Duration::from_millis(100)).await;
    let ill = health.report();
    rig.until_empty().await;

    let [breaker] = &ill.breakers[..] else { panic!("{ill:?}") };
    assert_eq!((&*breaker.topic, breaker.state), ("broken", BreakerState::Open));
    assert!(!ill.is_well() && health.report().is_well());
    let states = ["open", "half_open", "open", "half_open", "closed"];
    let changes = states.map(|state| format!("breaker broken {state}"));
    assert_eq!(recorder.with("breaker "), changes);
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn refused_credentials_are_told_and_shown_in_health() {
    let rig = Rig::new();
    rig.publisher.fail_next(failure(FailureKind::Credentials));
    rig.store.stage(message("orders"));

    let (worker, recorder, health) = start(&rig);
    rig.publisher.sent_at_least(1).await;
    rig.pass(Duration::from_millis(100)).await;
    let ill = health.report();
    rig.until_empty().await;

    assert_eq!(ill.credentials, BreakerState::Open);
    let states =
        ["open", "half_open", "closed"].map(|state| format!("breaker credentials {state}"));
    assert_eq!(recorder.with("breaker "), states);
    assert!(health.report().is_well());
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_is_told_once_and_shown_in_health() {
    let rig = Rig::new();
    let (worker, recorder, health) = start(&rig);
    rig.store.called_at_least(StoreCall::Read, 1).await;

    rig.store.break_down(StoreErrorKind::Unavailable);
    rig.pass(Duration::from_secs(10)).await;
    let ill = health.report();
    rig.store.recover();
    rig.pass(Duration::from_secs(30)).await;

    assert_eq!(ill.failing, ["lease", "read"]);
    assert_eq!(recorder.with("store read"), ["store read false", "store read true"]);
    let well = health.report();
    assert!(well.is_well(), "{well:?}");
    assert_eq!(well.lanes, 64);
    assert!(well.renewed < Duration::from_secs(6), "{well:?}");
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_outbox_is_counted_now_and_then_if_somebody_listens() {
    let rig = Rig::new();
    let alone = rig.start();
    rig.pass(Duration::from_mins(5)).await;
    alone.stop().await;
    assert_eq!(rig.store.calls(StoreCall::Stats), 0);

    let (worker, recorder, _) = start(&rig);
    rig.pass(Duration::from_mins(1)).await;
    rig.store.fail_next(StoreCall::Stats, StoreErrorKind::Unavailable);
    rig.pass(Duration::from_mins(4)).await;
    worker.stop().await;

    let counted = recorder.with("stats ");
    assert!((9..=11).contains(&counted.len()), "{counted:?}");
    let unavailable = format!("stats {}", Count::Unavailable);
    assert_eq!(counted.iter().filter(|line| **line == unavailable).count(), 1, "{counted:?}");
}
