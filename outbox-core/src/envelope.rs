//! Event and metadata, still typed.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::codec::PayloadError;
use crate::context::Context;
use crate::error::EncodeError;
use crate::event::OutboxEvent;
use crate::headers::Headers;
use crate::id::EventId;
use crate::message::OutboxMessage;
use crate::storable;

/// When a record may first be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// So long after the database's clock at staging.
    After(Duration),
    /// At this instant.
    At(DateTime<Utc>),
    /// At once.
    #[default]
    Now,
}

/// An event with what was said about this one delivery.
///
/// ```
/// # use outbox_core::{EventExt, OutboxEvent};
/// # #[derive(serde::Serialize, OutboxEvent)]
/// # #[outbox(type = "reports.requested", topic = "reports")]
/// # struct ReportRequested;
/// # use std::time::Duration;
/// let tomorrow = ReportRequested.after(Duration::from_secs(86_400)).with_header("priority", "low");
/// ```
#[derive(Clone, Debug)]
pub struct Envelope<E> {
    event: E,
    id: EventId,
    occurred_at: DateTime<Utc>,
    schedule: Schedule,
    context: Option<Context>,
    headers: Headers,
    topic: Option<String>,
    transport: Option<String>,
}

impl<E> Envelope<E> {
    /// Wraps an event under a fresh id, to be sent at once.
    pub fn new(event: E) -> Self {
        Self {
            event,
            id: EventId::new(),
            occurred_at: Utc::now(),
            schedule: Schedule::Now,
            context: None,
            headers: Headers::new(),
            topic: None,
            transport: None,
        }
    }

    /// Sends it no earlier than this long after staging, by the database's clock.
    pub fn after(mut self, delay: Duration) -> Self {
        self.schedule = Schedule::After(delay);
        self
    }

    /// Sends it no earlier than at this instant.
    pub fn at(mut self, instant: DateTime<Utc>) -> Self {
        self.schedule = Schedule::At(instant);
        self
    }

    /// Uses an id of the caller's, so that staging again after a commit of unknown outcome sends
    /// the same event again and not a second one.
    pub fn with_id(mut self, id: EventId) -> Self {
        self.id = id;
        self
    }

    /// Uses this context and not the ambient one.
    pub fn with_context(mut self, context: Context) -> Self {
        self.context = Some(context);
        self
    }

    /// Adds a header.
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push(name, value);
        self
    }

    /// Adds headers, in their order, behind those that are there.
    pub fn with_headers<N, V>(mut self, headers: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: Into<String>,
        V: Into<String>,
    {
        self.headers.extend(headers);
        self
    }

    /// Sends it to this topic and not to the event's own.
    pub fn to_topic(mut self, topic: impl Into<String>) -> Self {
        self.topic = Some(topic.into());
        self
    }

    /// Names the publisher that sends it; the worker's route for the topic is the default.
    pub fn via_transport(mut self, transport: impl Into<String>) -> Self {
        self.transport = Some(transport.into());
        self
    }

    /// The event.
    pub const fn event(&self) -> &E {
        &self.event
    }
}

impl<E: OutboxEvent> Envelope<E> {
    /// Encodes the event with its codec and fixes all that travels with it.
    ///
    /// An empty text that may be absent (subject, key, tenant and what the context says) is absent.
    ///
    /// # Errors
    /// [`EncodeError`] if the payload does not serialize, an ordered event has no key, or a name,
    /// text or instant could not be stored everywhere. Nothing was staged.
    pub fn encode(&self, source: &str, ambient: &Context) -> Result<StagedMessage, EncodeError> {
        let event = &self.event;
        let event_type = event.event_type();
        let partition_key = event.key();
        if event.ordered() && partition_key.as_deref().is_none_or(str::is_empty) {
            return Err(EncodeError::KeyMissing { event_type });
        }
        let payload = event.payload().map_err(|PayloadError { format, source }| {
            EncodeError::Payload { event_type, format, source }
        })?;

        let context = self.context.as_ref().unwrap_or(ambient);
        let topic = self.topic.as_deref().unwrap_or_else(|| event.topic());
        let mut message = OutboxMessage::new(self.id, event_type, topic, source, payload.bytes);
        message.event_version = event.event_version();
        message.transport.clone_from(&self.transport);
        message.content_type = payload.content_type.into();
        message.subject = event.subject();
        message.ordering_key = partition_key.clone().filter(|_| event.ordered());
        message.partition_key = partition_key;
        message.tenant = event.tenant().filter(|tenant| !tenant.is_empty());
        message.occurred_at = self.occurred_at;
        message.inherit(context);
        message.headers.extend(self.headers.iter());
        StagedMessage { message, schedule: self.schedule }.normalized()
    }
}

/// A message and when it may first be sent, ready for the insert.
#[derive(Clone, Debug)]
pub struct StagedMessage {
    /// What is stored.
    pub message: OutboxMessage,
    /// The application's delivery time.
    pub schedule: Schedule,
}

impl StagedMessage {
    /// The same message with its empty optional texts absent, if every database can store it.
    ///
    /// An encoded event is so already; this is for messages that were put together by hand.
    ///
    /// # Errors
    /// [`EncodeError`] if a name, text or instant could not be stored everywhere, if its keys differ,
    /// or if this version does not write its format.
    pub fn normalized(mut self) -> Result<Self, EncodeError> {
        self.message.drop_empty_texts();
        storable::check(&self)?;
        Ok(self)
    }
}

/// Turns an event into an envelope: what `after`, `with_id` and the like hang on.
pub trait EventExt: OutboxEvent + Sized {
    /// See [`Envelope::after`].
    fn after(self, delay: Duration) -> Envelope<Self> {
        Envelope::new(self).after(delay)
    }

    /// See [`Envelope::at`].
    fn at(self, instant: DateTime<Utc>) -> Envelope<Self> {
        Envelope::new(self).at(instant)
    }

    /// See [`Envelope::with_id`].
    fn with_id(self, id: EventId) -> Envelope<Self> {
        Envelope::new(self).with_id(id)
    }

    /// See [`Envelope::with_context`].
    fn with_context(self, context: Context) -> Envelope<Self> {
        Envelope::new(self).with_context(context)
    }

    /// See [`Envelope::with_header`].
    fn with_header(self, name: impl Into<String>, value: impl Into<String>) -> Envelope<Self> {
        Envelope::new(self).with_header(name, value)
    }

    /// See [`Envelope::with_headers`].
    fn with_headers<N, V>(self, headers: impl IntoIterator<Item = (N, V)>) -> Envelope<Self>
    where
        N: Into<String>,
        V: Into<String>,
    {
        Envelope::new(self).with_headers(headers)
    }

    /// See [`Envelope::to_topic`].
    fn to_topic(self, topic: impl Into<String>) -> Envelope<Self> {
        Envelope::new(self).to_topic(topic)
    }
}

impl<E: OutboxEvent> EventExt for E {}

/// What can be staged: an event, or an envelope around one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an outbox event",
    label = "only events can be staged, and envelopes around them",
    note = "add `#[derive(serde::Serialize, OutboxEvent)]` and `#[outbox(type = \"...\", topic = \"...\")]` to it"
)]
pub trait IntoEnvelope {
    /// The event inside.
    type Event: OutboxEvent;

    /// Wraps it, unless it is wrapped already.
    fn into_envelope(self) -> Envelope<Self::Event>;
}

impl<E: OutboxEvent> IntoEnvelope for E {
    type Event = E;

    fn into_envelope(self) -> Envelope<E> {
        Envelope::new(self)
    }
}

impl<E: OutboxEvent> IntoEnvelope for Envelope<E> {
    type Event = E;

    fn into_envelope(self) -> Self {
        self
    }
}
