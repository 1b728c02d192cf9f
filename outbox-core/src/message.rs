//! The encoded form that is stored and sent.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, Utc};

use crate::context::Context;
use crate::headers::Headers;
use crate::id::EventId;
use crate::lane::Lane;

/// Format of a stored record.
///
/// A worker leaves records of a format that it does not know to a newer worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Format(pub i16);

impl Format {
    /// The format that this version writes, and the newest that it reads.
    pub const CURRENT: Self = Self(1);
}

/// An event as stored bytes and plain metadata, ready for a broker.
///
/// The worker sends what is stored and never rebuilds it, so one worker serves every application
/// and every version of it. Words that repeat from record to record are shared.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutboxMessage {
    /// Identity of the event.
    pub id: EventId,
    /// Format of the record.
    pub format: Format,
    /// Publisher that sends it; `None` leaves it to the worker's route for the topic.
    pub transport: Option<String>,
    /// Stable wire name.
    pub event_type: Arc<str>,
    /// Version of the payload's schema.
    pub event_version: u16,
    /// Where it goes.
    pub topic: Arc<str>,
    /// `CloudEvents` source.
    pub source: Arc<str>,
    /// `CloudEvents` subject.
    pub subject: Option<String>,
    /// The event's key.
    pub partition_key: Option<String>,
    /// The event's key if it is ordered.
    pub ordering_key: Option<String>,
    /// Media type of the payload.
    pub content_type: Arc<str>,
    /// The payload, byte for byte as it was staged.
    pub payload: Bytes,
    /// Headers of the application.
    pub headers: Headers,
    /// Tenant that owns the event.
    pub tenant: Option<String>,
    /// Groups all events of one conversation.
    pub correlation_id: Option<String>,
    /// Id of what caused this event.
    pub causation_id: Option<String>,
    /// W3C trace context of the request that staged it.
    pub traceparent: Option<String>,
    /// W3C vendor state of the trace.
    pub tracestate: Option<String>,
    /// When it happened, by the application's clock.
    pub occurred_at: DateTime<Utc>,
    /// The application's earliest delivery time; it never changes.
    pub deliver_at: Option<DateTime<Utc>>,
    /// How often an operator has replayed it.
    pub replays: u32,
}

impl OutboxMessage {
    /// Media type of a payload that nothing else was said of.
    pub const JSON: &'static str = "application/json";
    /// Longest event type in bytes.
    pub const LONGEST_EVENT_TYPE: usize = 128;
    /// Longest partition and ordering key in bytes: what an index of every database takes.
    pub const LONGEST_KEY: usize = 510;
    /// Longest topic in bytes.
    pub const LONGEST_TOPIC: usize = 256;

    /// A JSON message with nothing optional set.
    pub fn new(
        id: EventId,
        event_type: impl Into<Arc<str>>,
        topic: impl Into<Arc<str>>,
        source: impl Into<Arc<str>>,
        payload: Bytes,
    ) -> Self {
        Self {
            id,
            format: Format::CURRENT,
            transport: None,
            event_type: event_type.into(),
            event_version: 1,
            topic: topic.into(),
            source: source.into(),
            subject: None,
            partition_key: None,
            ordering_key: None,
            content_type: Self::JSON.into(),
            payload,
            headers: Headers::new(),
            tenant: None,
            correlation_id: None,
            causation_id: None,
            traceparent: None,
            tracestate: None,
            occurred_at: Utc::now(),
            deliver_at: None,
            replays: 0,
        }
    }

    /// Takes from a context what the event itself did not say.
    pub(crate) fn inherit(&mut self, context: &Context) {
        let filled = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let root = || self.id.to_string();
        self.correlation_id = Some(filled(&context.correlation_id).unwrap_or_else(root));
        self.causation_id = filled(&context.causation_id);
        self.traceparent = filled(&context.traceparent);
        self.tracestate = filled(&context.tracestate);
        self.tenant = self.tenant.take().or_else(|| filled(&context.tenant));
        self.headers.extend_from(&context.headers);
    }

    /// Makes optional texts that are empty absent, but for the ordering key.
    ///
    /// Without its ordering key a message would lose its order without a word.
    pub(crate) fn drop_empty_texts(&mut self) {
        for text in [
            &mut self.transport,
            &mut self.subject,
            &mut self.partition_key,
            &mut self.tenant,
            &mut self.correlation_id,
            &mut self.causation_id,
            &mut self.traceparent,
            &mut self.tracestate,
        ] {
            if text.as_deref() == Some("") {
                *text = None;
            }
        }
    }

    /// The lane that this message belongs to for as long as it is stored.
    pub fn lane(&self) -> Lane {
        match &self.ordering_key {
            Some(key) => Lane::of_key(&self.topic, key),
            None => Lane::of_id(self.id),
        }
    }

    /// Bytes that the message takes in memory and on the wire, without framing.
    pub fn size(&self) -> usize {
        let optional = [
            &self.subject,
            &self.partition_key,
            &self.ordering_key,
            &self.tenant,
            &self.correlation_id,
            &self.causation_id,
            &self.traceparent,
            &self.tracestate,
        ];
        self.payload.len()
            + self.headers.bytes()
            + self.event_type.len()
            + self.topic.len()
            + self.source.len()
            + self.content_type.len()
            + optional.into_iter().flatten().map(String::len).sum::<usize>()
    }
}

/// Everything but the payload and the values of headers.
impl fmt::Debug for OutboxMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutboxMessage")
            .field("id", &self.id)
            .field("event_type", &self.event_type)
            .field("event_version", &self.event_version)
            .field("topic", &self.topic)
            .field("partition_key", &self.partition_key)
            .field("ordered", &self.ordering_key.is_some())
            .field("payload_bytes", &self.payload.len())
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}
