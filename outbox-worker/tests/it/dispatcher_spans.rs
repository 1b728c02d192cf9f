//! The spans of a dispatcher, by the OpenTelemetry conventions for messaging.

use std::num::NonZeroU8;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use outbox_core::{FailureKind, OutboxMessage};
use outbox_worker::{TraceLink, TraceOrigin};
use tracing::Span;

use crate::logs::listen_to_spans;
use crate::rig::{Rig, Worker, failure, message};

const ONE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const OTHER: &str = "00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// With one reader, what is staged at one instant goes in one call, once the worker knows that
/// records are small.
fn rig() -> Rig {
    let mut rig = Rig::new();
    rig.settings.readers = NonZeroU8::MIN;
    rig
}

#[tokio::test(start_paused = true)]
async fn each_phase_has_a_span_with_the_fields_of_the_conventions() {
    let (lines, _logging) = listen_to_spans();
    let rig = rig();
    let worker = rig.start();
    rig.pass(Duration::from_secs(1)).await;
    for _ in 0..3 {
        rig.store.stage(message("orders"));
    }

    rig.until_empty().await;
    worker.stop().await;

    let published = lines.with("outbox.publish{");
    let [publish] = &published[..] else { panic!("{published:?}") };
    for field in [
        r#"otel.name="publish orders""#,
        r#"otel.kind="producer""#,
        r#"messaging.system="outbox""#,
        r#"messaging.operation.name="publish""#,
        r#"messaging.operation.type="send""#,
        r#"messaging.destination.name="orders""#,
        "messaging.batch.message_count=3",
    ] {
        assert!(publish.contains(field), "{field} is not in {publish}");
    }
    assert!(!publish.contains("error.type"), "{publish}");
    let read = r#"messaging.operation.type="receive""#;
    assert!(lines.with("outbox.read{").iter().any(|line| line.contains(read)));
    assert!(lines.with("outbox.read{").iter().any(|line| line.contains("message_count=3")));
    let settle = r#"messaging.operation.type="settle" messaging.batch.message_count=3"#;
    assert!(lines.with("outbox.settle{").iter().any(|line| line.contains(settle)));
    assert!(!lines.with("outbox.tend{").is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_span_of_a_send_that_fails_says_who_is_at_fault() {
    let (lines, _logging) = listen_to_spans();
    let rig = Rig::new();
    rig.publisher.fail_next(failure(FailureKind::Ambiguous));
    let id = rig.store.stage(message("orders")).id;

    let worker = rig.start();
    rig.until_empty().await;
    worker.stop().await;

    let published = lines.with("outbox.publish{");
    let [failed, succeeded] = &published[..] else { panic!("{published:?}") };
    assert!(failed.contains(r#"error.type="ambiguous""#), "{failed}");
    assert!(failed.contains(r#"otel.status_code="ERROR""#), "{failed}");
    assert!(failed.contains(&format!("messaging.message.id={id}")), "{failed}");
    assert!(!succeeded.contains("ERROR"), "{succeeded}");
}

/// Which origins each span was joined with.
#[derive(Debug, Default)]
struct Links(Mutex<Vec<Origins>>);

type Origins = Vec<(String, Option<String>)>;

impl TraceLink for Links {
    fn link(&self, span: &Span, origins: &[TraceOrigin<'_>]) {
        assert_eq!(span.metadata().map(tracing::Metadata::name), Some("outbox.publish"));
        let origins = origins.iter();
        let origins = origins.map(|o| (o.traceparent.to_owned(), o.tracestate.map(str::to_owned)));
        self.0.lock().unwrap().push(origins.collect());
    }
}

fn traced(traceparent: &str) -> OutboxMessage {
    let mut traced = message("orders");
    traced.traceparent = Some(traceparent.to_owned());
    traced.tracestate = Some("shop=1".to_owned());
    traced
}

#[tokio::test(start_paused = true)]
async fn a_send_is_joined_with_each_trace_of_its_messages_once() {
    let (_lines, _logging) = listen_to_spans();
    let rig = rig();
    let links = Arc::new(Links::default());
    let builder = rig.dispatcher(Arc::new(rig.publisher.clone())).traces(links.clone());
    let worker = Worker::of(builder);
    rig.pass(Duration::from_secs(1)).await;
    for traceparent in [ONE, ONE, OTHER] {
        rig.store.stage(traced(traceparent));
    }
    rig.store.stage(message("orders"));

    rig.until_empty().await;
    rig.store.stage(message("orders"));
    rig.until_empty().await;
    worker.stop().await;

    let mut joined = links.0.lock().unwrap().clone();
    for origins in &mut joined {
        origins.sort();
    }
    let state = || Some("shop=1".to_owned());
    assert_eq!(joined, [[(ONE.to_owned(), state()), (OTHER.to_owned(), state())]]);
}
