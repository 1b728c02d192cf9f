//! One message in its envelope.

use std::fmt;

use super::fifo;
use super::kind::TopicKind;
use super::topic_profile::TopicProfile;
use crate::cloudevents::Attributes;
use crate::message::OutboxMessage;
use crate::unsendable::Unsendable;

/// One message in its envelope: checked, and small enough for its topic.
#[derive(Clone, PartialEq, Eq)]
pub struct WrappedMessage {
    body: String,
    attributes: Attributes,
    group_id: Option<String>,
    deduplication_id: Option<String>,
}

impl WrappedMessage {
    /// Type of every message attribute.
    pub const ATTRIBUTE_TYPE: &'static str = Attributes::TYPE;

    pub(super) fn new(profile: &TopicProfile, message: &OutboxMessage) -> Result<Self, Unsendable> {
        let mut attributes = profile.form().attributes(message);
        for (name, value) in profile.chosen_headers(message) {
            attributes.add(name, value);
        }
        attributes.check()?;
        // A standard topic refuses a request that has one.
        let fifo = profile.kind() == TopicKind::Fifo;
        let wrapped = Self {
            body: profile.form().body(message)?,
            attributes,
            group_id: fifo.then(|| fifo::group_id(message)),
            deduplication_id: fifo.then(|| fifo::deduplication_id(message)),
        };
        profile.check_size(wrapped.size())?;
        Ok(wrapped)
    }

    /// The body.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// The body alone.
    pub fn into_body(self) -> String {
        self.body
    }

    /// The message attributes, ten at most.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.attributes.iter()
    }

    /// The message group, on FIFO topics.
    pub fn group_id(&self) -> Option<&str> {
        self.group_id.as_deref()
    }

    /// The deduplication id, on FIFO topics.
    pub fn deduplication_id(&self) -> Option<&str> {
        self.deduplication_id.as_deref()
    }

    /// Bytes that SNS counts: the body, and name, type and value of each attribute.
    pub fn size(&self) -> usize {
        self.body.len() + self.attributes.bytes()
    }
}

/// Sizes and names only: payload and values stay out of logs.
impl fmt::Debug for WrappedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WrappedMessage")
            .field("body_bytes", &self.body.len())
            .field("attributes", &self.attributes().map(|(name, _)| name).collect::<Vec<_>>())
            .field("group_id", &self.group_id)
            .field("deduplication_id", &self.deduplication_id)
            .finish()
    }
}
