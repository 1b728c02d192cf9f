//! Traces that go on across the outbox.

use std::fmt::Debug;

use tracing::Span;

/// Joins the span of a send with the traces in which its messages were staged.
///
/// The library exports no traces, so it cannot do that itself. With `tracing-opentelemetry`, one
/// origin becomes the span's parent and several become its links. A panic of it is logged once and
/// stops no sending.
pub trait TraceLink: Debug + Send + Sync {
    /// Called before the send begins, with each origin once; never with none.
    fn link(&self, span: &Span, origins: &[TraceOrigin<'_>]);
}

/// W3C context of the request that staged a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceOrigin<'a> {
    /// `traceparent`, as it was stored.
    pub traceparent: &'a str,
    /// `tracestate`, as it was stored.
    pub tracestate: Option<&'a str>,
}
