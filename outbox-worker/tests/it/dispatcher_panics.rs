//! Code of the application's that panics does not keep records from being sent.

use std::sync::Arc;

use outbox_core::{FailedAttempt, FailureKind, RetryPolicy, Verdict};
use outbox_worker::{DispatcherBuilder, Measurement, OutboxMetrics, TraceLink, TraceOrigin};
use tracing::Span;

use crate::logs::listen;
use crate::rig::{Rig, Worker, failure, message};

#[derive(Debug)]
struct Panics;

impl OutboxMetrics for Panics {
    fn measure(&self, _: &Measurement<'_>) {
        panic!("as the test says");
    }
}

impl RetryPolicy for Panics {
    fn decide(&self, _: FailedAttempt) -> Verdict {
        panic!("as the test says");
    }
}

impl TraceLink for Panics {
    fn link(&self, _: &Span, _: &[TraceOrigin<'_>]) {
        panic!("as the test says");
    }
}

/// Sends records of which one fails at first, and checks that the panic is told once.
async fn sends_all_with(what: &str, add: impl FnOnce(DispatcherBuilder) -> DispatcherBuilder) {
    const RECORDS: usize = 20;
    let (lines, _logging) = listen();
    let rig = Rig::new();
    rig.publisher
        .script([failure(FailureKind::Transient), failure(FailureKind::Transient)].map(Err));
    for _ in 0..RECORDS {
        let mut traced = message("orders");
        traced.traceparent =
            Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned());
        rig.store.stage(traced);
    }

    let worker = Worker::of(add(rig.dispatcher(Arc::new(rig.publisher.clone()))));
    rig.until_empty().await;

    assert_eq!(rig.publisher.accepted().len(), RECORDS);
    assert_eq!(worker.figures.failed(FailureKind::Transient), 2);
    let told = lines.with("code of the application panicked");
    let [line] = &told[..] else { panic!("{told:?}") };
    assert!(line.contains("ERROR") && line.contains(what), "{line}");
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn metrics_that_panic_stop_no_record() {
    sends_all_with("metrics", |builder| builder.metrics(Arc::new(Panics))).await;
}

/// Then the default policy decides.
#[tokio::test(start_paused = true)]
async fn a_retry_policy_that_panics_stops_no_record() {
    sends_all_with("retry policy", |builder| builder.retry(Arc::new(Panics))).await;
}

#[tokio::test(start_paused = true)]
async fn a_trace_link_that_panics_stops_no_record() {
    sends_all_with("trace link", |builder| builder.traces(Arc::new(Panics))).await;
}
