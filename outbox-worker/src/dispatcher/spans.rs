//! One span for each phase.
//!
//! Names and fields follow the OpenTelemetry conventions for messaging, which are in development:
//! <https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/>. Ids are in spans,
//! payloads and values of headers are not.

use outbox_core::{OutboxMessage, Outcome, Publisher};
use tracing::Span;
use tracing::field::Empty;

use super::destinations::Destination;
use super::held::Held;
use super::publish::Sent;
use crate::trace::{TraceLink, TraceOrigin};

pub(super) fn publish(publisher: &dyn Publisher, to: &Destination, batch: &[Held]) -> Span {
    let span = tracing::info_span!(
        "outbox.publish",
        otel.name = format!("publish {}", to.topic),
        otel.kind = "producer",
        otel.status_code = Empty,
        "error.type" = Empty,
        messaging.system = publisher.system(),
        messaging.operation.name = "publish",
        "messaging.operation.type" = "send",
        messaging.destination.name = &*to.topic,
        messaging.batch.message_count = Empty,
        messaging.message.id = Empty,
    );
    match batch {
        [held] => span.record("messaging.message.id", tracing::field::display(held.reference().id)),
        _ => span.record("messaging.batch.message_count", batch.len()),
    };
    span
}

/// Tells which traces the messages come from.
pub(super) fn link(link: &dyn TraceLink, span: &Span, batch: &[Held]) {
    let mut origins: Vec<TraceOrigin<'_>> = Vec::new();
    for origin in batch.iter().filter_map(|held| origin(&held.record.message)) {
        if !origins.contains(&origin) {
            origins.push(origin);
        }
    }
    if !origins.is_empty() {
        link.link(span, &origins);
    }
}

fn origin(message: &OutboxMessage) -> Option<TraceOrigin<'_>> {
    let traceparent = message.traceparent.as_deref()?;
    Some(TraceOrigin { traceparent, tracestate: message.tracestate.as_deref() })
}

/// Says in the current span how a send failed, if it did.
pub(super) fn sent(sent: &[Sent]) {
    if let Some(kind) = sent.iter().find_map(Sent::failed) {
        let span = Span::current();
        span.record("error.type", kind.as_str());
        span.record("otel.status_code", "ERROR");
    }
}

pub(super) fn read(lanes: usize) -> Span {
    tracing::info_span!(
        "outbox.read",
        otel.kind = "client",
        messaging.operation.name = "read",
        "messaging.operation.type" = "receive",
        messaging.batch.message_count = Empty,
        lanes,
    )
}

/// Says in the current span what a read brought.
pub(super) fn found(records: usize) {
    Span::current().record("messaging.batch.message_count", records);
}

pub(super) fn settle(outcomes: &[Outcome]) -> Span {
    tracing::info_span!(
        "outbox.settle",
        otel.kind = "client",
        messaging.operation.name = "settle",
        "messaging.operation.type" = "settle",
        messaging.batch.message_count = outcomes.len(),
    )
}

pub(super) fn tend(lanes: usize) -> Span {
    tracing::info_span!("outbox.tend", otel.kind = "client", lanes)
}
