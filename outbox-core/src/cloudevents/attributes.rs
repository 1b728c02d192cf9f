//! The message attributes of one message.

use super::document::MEDIA_TYPE;
use super::extensions::{Extensions, attribute_json, filled, time};
use super::{text, traceparent};
use crate::message::OutboxMessage;
use crate::unsendable::Unsendable;

/// Name and value pairs, all of one type.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Attributes(Vec<(String, String)>);

impl Attributes {
    /// What SNS calls the type of a text attribute.
    pub(crate) const TYPE: &'static str = "String";

    pub(crate) fn add(&mut self, name: &str, value: &str) {
        self.0.push((name.to_owned(), value.to_owned()));
    }

    /// Refuses the first empty value, and the first with a character for which filters ignore it.
    pub(crate) fn check(&self) -> Result<(), Unsendable> {
        for (name, value) in self.iter() {
            if value.is_empty() {
                return Err(Unsendable::AttributeEmpty { attribute: name.to_owned() });
            }
            if let Some(character) = text::illegal_in_attribute(value) {
                let attribute = name.to_owned();
                return Err(Unsendable::AttributeCharacter { attribute, character });
            }
        }
        Ok(())
    }

    /// Bytes that SNS counts for them: names, types and values.
    pub(crate) fn bytes(&self) -> usize {
        self.iter().map(|(name, value)| name.len() + Self::TYPE.len() + value.len()).sum()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// Attributes of a message whose body is the document: what filters and tracing need.
pub(crate) fn beside_document(message: &OutboxMessage) -> Attributes {
    of_both(message, MEDIA_TYPE)
}

/// Attributes of a message whose body is the payload: all of its metadata.
pub(crate) fn beside_payload(message: &OutboxMessage) -> Attributes {
    let mut attributes = of_both(message, &message.content_type);
    attributes.add("ce_specversion", "1.0");
    attributes.add("ce_time", &time(message));
    if let Some(subject) = filled(message.subject.as_deref()) {
        attributes.add("ce_subject", subject);
    }
    // One attribute for the rest, because a message has room for ten.
    attributes.add("ce_extensions", &attribute_json(&Extensions::of(message)));
    attributes
}

fn of_both(message: &OutboxMessage, content_type: &str) -> Attributes {
    let mut attributes = Attributes::default();
    if !content_type.is_empty() {
        attributes.add("content-type", content_type);
    }
    attributes.add("ce_id", &message.id.to_string());
    attributes.add("ce_source", &message.source);
    attributes.add("ce_type", &message.event_type);
    if let Some(traceparent) = traceparent(message) {
        attributes.add("traceparent", traceparent);
    }
    attributes
}
