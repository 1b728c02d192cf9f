//! The two forms in which a message travels.

use crate::cloudevents::{self, Attributes, illegal_in_body};
use crate::message::OutboxMessage;
use crate::unsendable::Unsendable;

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

    /// Attributes that hold what filters and tracing need, unchecked.
    pub(super) fn attributes(self, message: &OutboxMessage) -> Attributes {
        match self {
            Self::Binary => cloudevents::beside_payload(message),
            Self::Structured => cloudevents::beside_document(message),
        }
    }

    pub(super) fn body(self, message: &OutboxMessage) -> Result<String, Unsendable> {
        match self {
            Self::Binary => payload(message).map(str::to_owned),
            Self::Structured => Ok(cloudevents::document(message)),
        }
    }

    /// Bytes of body and attributes, whether or not they could be sent.
    pub(super) fn size(self, message: &OutboxMessage) -> usize {
        let body = match self {
            Self::Binary => message.payload.len(),
            Self::Structured => cloudevents::document(message).len(),
        };
        body + self.attributes(message).bytes()
    }

    /// Whether a body can be made of the payload. A document holds any.
    pub(super) fn check_body(self, message: &OutboxMessage) -> Result<(), Unsendable> {
        match self {
            Self::Binary => payload(message).map(drop),
            Self::Structured => Ok(()),
        }
    }
}

/// The payload as text that a queue carries.
fn payload(message: &OutboxMessage) -> Result<&str, Unsendable> {
    let body = std::str::from_utf8(&message.payload).map_err(|_| Unsendable::BodyNotText)?;
    if body.is_empty() {
        return Err(Unsendable::BodyEmpty);
    }
    match illegal_in_body(body) {
        Some(character) => Err(Unsendable::BodyCharacter { character }),
        None => Ok(body),
    }
}
