//! What an event inherits from the request that caused it.

use std::fmt;

use crate::headers::Headers;

/// Correlation, causation, trace and tenant of the work that stages an event.
///
/// Without a correlation id the event's own id is the correlation id. An event that names its
/// tenant itself keeps it; the tenant here is for the others.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Context {
    /// Groups all events of one conversation.
    pub correlation_id: Option<String>,
    /// Id of the command or event that caused this one.
    pub causation_id: Option<String>,
    /// W3C trace context of the request.
    pub traceparent: Option<String>,
    /// W3C vendor state of the trace.
    pub tracestate: Option<String>,
    /// Tenant on whose behalf the event is staged.
    pub tenant: Option<String>,
    /// Headers added to each event.
    pub headers: Headers,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("correlation_id", &self.correlation_id)
            .field("causation_id", &self.causation_id)
            .field("traceparent", &self.traceparent)
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}
