//! The two forms in which a message travels.

mod binary;
mod extensions;
mod structured;

use outbox_core::{Failure, FailureKind, OutboxMessage};

use super::attributes::Attributes;

/// Where the `CloudEvents` metadata of a message travels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EnvelopeForm {
    /// The body is the payload as text, the metadata are message attributes.
    ///
    /// For consumers that want the bare payload. It needs a text payload, and raw HTTP and Firehose
    /// subscriptions do not see the metadata.
    Binary,
    /// The body is a `CloudEvents` JSON document that holds metadata and payload.
    ///
    /// It arrives whole over every kind of subscription.
    #[default]
    Structured,
}

impl EnvelopeForm {
    /// How many message attributes are left for headers to filter by.
    ///
    /// A queue with raw delivery discards a message that has more than ten attributes.
    pub const fn spare_attributes(self) -> usize {
        match self {
            Self::Binary => 1,
            Self::Structured => 5,
        }
    }

    /// The body, and attributes that hold all that filters and tracing need.
    pub(crate) fn wrap(self, message: &OutboxMessage) -> Result<(String, Attributes), Failure> {
        match self {
            Self::Binary => binary::wrap(message),
            Self::Structured => structured::wrap(message),
        }
    }
}

/// What only a change of the message could cure.
fn refused(why: &str) -> Failure {
    Failure::new(FailureKind::Message, why)
}

/// The attributes that both forms have, with this media type of the body.
fn attributes_of_both(message: &OutboxMessage, content_type: &str) -> Result<Attributes, Failure> {
    let mut attributes = Attributes::default();
    if !content_type.is_empty() {
        attributes.add("content-type", content_type)?;
    }
    attributes.add("ce_id", &message.id.to_string())?;
    attributes.add("ce_source", &message.source)?;
    attributes.add("ce_type", &message.event_type)?;
    if let Some(traceparent) = traceparent(message) {
        attributes.add("traceparent", traceparent)?;
    }
    Ok(attributes)
}

/// The trace context if it can travel: a bad one is no reason to refuse a message.
fn traceparent(message: &OutboxMessage) -> Option<&str> {
    let plain = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    message.traceparent.as_deref().filter(plain)
}
