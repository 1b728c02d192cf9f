//! Events of a request carry what its headers say.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use http::Request;
use outbox_seaorm::{Context, ContextLayer, ScopeContext, current_context};
use tower::{ServiceBuilder, ServiceExt, service_fn};

const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// The context in which a request with these headers is served, and how many values were dropped.
async fn served(headers: &[(&str, &str)]) -> (Context, u64) {
    let bytes: Vec<(&str, &[u8])> =
        headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
    served_with(ContextLayer::new(), &bytes).await
}

async fn served_with(layer: ContextLayer, headers: &[(&str, &[u8])]) -> (Context, u64) {
    let dropped = layer.dropped();
    let service = ServiceBuilder::new()
        .layer(layer)
        .service(service_fn(|_: Request<()>| async { Ok::<_, Infallible>(current_context()) }));
    let mut request = Request::builder();
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let context = service.oneshot(request.body(()).unwrap()).await.unwrap();
    (context, dropped.total())
}

fn text(text: &str) -> Option<String> {
    text.to_owned().into()
}

#[tokio::test]
async fn a_request_without_headers_has_an_empty_context() {
    assert_eq!(served(&[]).await, (Context::default(), 0));
}

#[tokio::test]
async fn trace_and_ids_are_taken_from_the_headers() {
    let headers = [
        ("traceparent", TRACE),
        ("tracestate", "vendor=1"),
        ("tracestate", "other=a b"),
        ("x-correlation-id", "request-17"),
        ("x-causation-id", "command-3"),
    ];

    let (context, dropped) = served(&headers).await;

    assert_eq!(dropped, 0);
    assert_eq!(context.traceparent.as_deref(), Some(TRACE));
    assert_eq!(context.tracestate.as_deref(), Some("vendor=1,other=a b"));
    assert_eq!(context.correlation_id.as_deref(), Some("request-17"));
    assert_eq!(context.causation_id.as_deref(), Some("command-3"));
}

#[tokio::test]
async fn a_trace_that_is_none_is_dropped_with_its_state() {
    let bad = [
        "",
        "00",
        "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
        "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01more",
        "00-0af7651916cd43dd8448eb211c80319-cb7ad6b7169203331-01",
        "00_0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331_01",
    ];
    for traceparent in bad {
        let headers = [("traceparent", traceparent), ("tracestate", "vendor=1")];

        let (context, dropped) = served(&headers).await;

        assert_eq!((context, dropped), (Context::default(), 1), "{traceparent}");
    }
}

#[tokio::test]
async fn a_later_version_of_a_trace_is_read_as_far_as_it_is_known() {
    let traceparent = format!("cc{}-what-the-future-brings", &TRACE[2..]);

    let (context, dropped) = served(&[("traceparent", traceparent.as_str())]).await;

    assert_eq!(dropped, 0);
    assert_eq!(context.traceparent, Some(format!("cc{}", &TRACE[2..])));
}

#[tokio::test]
async fn a_state_that_is_too_long_or_not_printable_is_dropped_alone() {
    let long = "v".repeat(513);
    for state in [long.as_bytes(), b"vendor=\xc3\xa4", b"vendor=\t1"] {
        let headers = [("traceparent", TRACE.as_bytes()), ("tracestate", state)];

        let (context, dropped) = served_with(ContextLayer::new(), &headers).await;

        assert_eq!(dropped, 1, "{state:?}");
        assert_eq!((context.traceparent.as_deref(), context.tracestate), (Some(TRACE), None));
    }
}

#[tokio::test]
async fn an_id_that_is_empty_long_foreign_or_repeated_is_dropped() {
    let long = "7".repeat(129);
    let bad: [&[u8]; 5] = [b"", long.as_bytes(), b"two words", b"\xc3\xa4", b"tab\there"];
    for id in bad {
        let (context, dropped) =
            served_with(ContextLayer::new(), &[("x-correlation-id", id)]).await;

        assert_eq!((context.correlation_id, dropped), (None, 1), "{id:?}");
    }
    let twice = [("x-causation-id", "a"), ("x-causation-id", "b")];
    let (context, dropped) = served(&twice).await;
    assert_eq!((context.causation_id, dropped), (None, 1));

    let longest = "7".repeat(128);
    let (context, _) = served(&[("x-correlation-id", longest.as_str())]).await;
    assert_eq!(context.correlation_id, Some(longest));
}

#[tokio::test]
async fn ids_can_come_from_headers_of_other_names() {
    let names = ["x-request-id", "x-command-id"].map(http::HeaderName::from_static);
    let [correlation, causation] = names;
    let layer = ContextLayer::with_headers(correlation, causation);
    let headers: [(&str, &[u8]); 3] =
        [("x-request-id", b"r"), ("x-command-id", b"c"), ("x-correlation-id", b"ignored")];

    let (context, _) = served_with(layer, &headers).await;

    assert_eq!((context.correlation_id, context.causation_id), (text("r"), text("c")));
}

#[tokio::test]
async fn a_surrounding_context_keeps_what_the_headers_do_not_say() {
    let outer = Context {
        tenant: text("acme"),
        correlation_id: text("outer"),
        traceparent: text("outer"),
        tracestate: text("outer"),
        ..Context::default()
    };

    let (context, _) =
        outer.scope(served(&[("traceparent", TRACE), ("x-correlation-id", "inner")])).await;

    assert_eq!(context.tenant, text("acme"));
    assert_eq!(context.correlation_id, text("inner"));
    assert_eq!((context.traceparent, context.tracestate), (text(TRACE), None));
}

/// A state belongs to its parent, and the outer one is not the caller's.
#[tokio::test]
async fn a_bad_trace_leaves_nothing_of_a_surrounding_one() {
    let outer =
        Context { traceparent: text(TRACE), tracestate: text("vendor=1"), ..Context::default() };

    let (context, dropped) = outer.scope(served(&[("traceparent", "00-bad")])).await;

    assert_eq!((context, dropped), (Context::default(), 1));
}

/// Also while it makes its future, as a service does that is a function with a part before `async`.
#[tokio::test]
async fn the_context_holds_from_the_first_line_of_the_service() {
    let seen = Arc::new(AtomicU64::new(0));
    let service = ServiceBuilder::new().layer(ContextLayer::new()).service(service_fn({
        let seen = Arc::clone(&seen);
        move |_: Request<()>| {
            let id = current_context().correlation_id.unwrap_or_default();
            seen.store(id.len() as u64, std::sync::atomic::Ordering::Relaxed);
            async { Ok::<_, Infallible>(()) }
        }
    }));
    let request = Request::builder().header("x-correlation-id", "seven77").body(()).unwrap();

    service.oneshot(request).await.unwrap();

    assert_eq!(seen.load(std::sync::atomic::Ordering::Relaxed), 7);
}
