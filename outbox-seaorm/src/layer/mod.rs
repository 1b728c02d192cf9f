//! Fills the ambient context of each request from its headers.

mod fields;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{self, Poll};

use http::{HeaderMap, HeaderName, Request};
use outbox_core::Context;
use tokio::task::futures::TaskLocalFuture;
use tower_layer::Layer;
use tower_service::Service;

use crate::context::AMBIENT;

/// Runs each request in a [`Context`] that is read from its headers.
///
/// | header | becomes | taken if |
/// |---|---|---|
/// | `traceparent` | `traceparent` | it is a W3C trace context |
/// | `tracestate` | `tracestate` | it is printable ASCII of at most 512 bytes, and the `traceparent` is taken |
/// | `x-correlation-id` | `correlation_id` | it is 1 to 128 bytes of visible ASCII |
/// | `x-causation-id` | `causation_id` | it is 1 to 128 bytes of visible ASCII |
///
/// What is not taken is dropped, counted and never stored; the request goes on without it. So is
/// what comes twice, but for `tracestate`, whose lines are one list; beside a `traceparent` that is
/// not taken it goes uncounted. A context that surrounds the request (an outer layer's) keeps what the headers do
/// not say.
///
/// ```
/// use outbox_seaorm::ContextLayer;
/// use tower_layer::Layer;
///
/// let layer = ContextLayer::new();
/// let dropped = layer.dropped(); // for the application's metrics
/// // let app = axum::Router::new().route("/orders", post(place)).layer(layer);
/// # let _service = layer.layer(());
/// assert_eq!(dropped.total(), 0);
/// ```
#[derive(Clone, Debug)]
pub struct ContextLayer {
    names: Arc<Names>,
    dropped: Arc<DroppedHeaders>,
}

#[derive(Debug)]
struct Names {
    correlation: HeaderName,
    causation: HeaderName,
}

impl ContextLayer {
    /// Reads the headers of the table above.
    pub fn new() -> Self {
        Self::with_headers(
            HeaderName::from_static("x-correlation-id"),
            HeaderName::from_static("x-causation-id"),
        )
    }

    /// Reads correlation and causation id from headers of other names, `x-request-id` for one.
    pub fn with_headers(correlation: HeaderName, causation: HeaderName) -> Self {
        Self { names: Arc::new(Names { correlation, causation }), dropped: Arc::default() }
    }

    /// How many header values were dropped so far; shared by all services of this layer.
    pub fn dropped(&self) -> Arc<DroppedHeaders> {
        Arc::clone(&self.dropped)
    }
}

impl Default for ContextLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for ContextLayer {
    type Service = ContextService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        ContextService { inner, layer: self.clone() }
    }
}

/// A service behind a [`ContextLayer`].
#[derive(Clone, Debug)]
pub struct ContextService<S> {
    inner: S,
    layer: ContextLayer,
}

impl<S, B> Service<Request<B>> for ContextService<S>
where
    S: Service<Request<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = TaskLocalFuture<Context, S::Future>;

    fn poll_ready(&mut self, cx: &mut task::Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let context = self.layer.context(request.headers());
        // In scope already for what the inner service does before it returns its future.
        let future = AMBIENT.sync_scope(context.clone(), || self.inner.call(request));
        AMBIENT.scope(context, future)
    }
}

impl ContextLayer {
    fn context(&self, headers: &HeaderMap) -> Context {
        let mut context = crate::context::current_context();
        let dropped = &self.dropped;
        let traceparent = HeaderName::from_static("traceparent");
        if headers.contains_key(&traceparent) {
            // A state belongs to its parent: beside another one it would say something untrue.
            context.traceparent = dropped.unless(fields::traceparent(headers, &traceparent));
            context.tracestate = None;
        }
        let tracestate = dropped.unless(fields::tracestate(headers));
        if headers.contains_key(&traceparent) && context.traceparent.is_some() {
            context.tracestate = tracestate;
        }
        let ids = [
            (&self.names.correlation, &mut context.correlation_id),
            (&self.names.causation, &mut context.causation_id),
        ];
        for (name, field) in ids {
            if let Some(id) = dropped.unless(fields::id(headers, name)) {
                *field = Some(id);
            }
        }
        context
    }
}

/// Counts header values that could not be taken.
#[derive(Debug, Default)]
pub struct DroppedHeaders(AtomicU64);

impl DroppedHeaders {
    /// All of them since the layer was made.
    pub fn total(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn unless(&self, read: Result<Option<String>, fields::Unfit>) -> Option<String> {
        read.unwrap_or_else(|fields::Unfit { header }| {
            self.0.fetch_add(1, Ordering::Relaxed);
            // Without the value: it is a stranger's.
            tracing::debug!(header, "request header dropped");
            None
        })
    }
}
