//! One message as SNS gets it.

use std::fmt;

use aws_sdk_sns::error::BuildError;
use aws_sdk_sns::types::{MessageAttributeValue, PublishBatchRequestEntry};
use outbox_core::{Failure, FailureKind, OutboxMessage};

use super::attributes::{Attributes, STRING};
use super::fifo;
use super::topics::SnsTopic;

/// One message as SNS gets it: checked, and small enough for its topic.
#[derive(Clone, PartialEq, Eq)]
pub struct SnsEntry {
    body: String,
    attributes: Attributes,
    group_id: Option<String>,
    deduplication_id: Option<String>,
}

impl SnsEntry {
    /// Wraps a message in the topic's envelope.
    ///
    /// # Errors
    /// [`FailureKind::Message`] if SNS or a queue behind it would refuse or drop it.
    pub fn new(message: &OutboxMessage, topic: &SnsTopic) -> Result<Self, Failure> {
        let profile = topic.profile();
        let (body, mut attributes) = profile.form().wrap(message)?;
        for name in profile.filter_headers() {
            // SNS has no empty attributes; to a filter, an empty header is a missing one.
            if let Some(value) = message.headers.value(name).filter(|value| !value.is_empty()) {
                attributes.add(name, value)?;
            }
        }
        let fifo = topic.is_fifo();
        let entry = Self {
            body,
            attributes,
            group_id: fifo.then(|| fifo::group_id(message)),
            // A standard topic refuses a request that has one.
            deduplication_id: fifo.then(|| fifo::deduplication_id(message)),
        };
        entry.check_size(profile.limit())?;
        Ok(entry)
    }

    /// The body.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// The message attributes, all of type String, ten at most.
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

    /// The entry of a request, under this id.
    pub(crate) fn to_request(&self, id: usize) -> Result<PublishBatchRequestEntry, BuildError> {
        let mut entry = PublishBatchRequestEntry::builder()
            .id(id.to_string())
            .message(&self.body)
            .set_message_group_id(self.group_id.clone())
            .set_message_deduplication_id(self.deduplication_id.clone());
        for (name, value) in self.attributes() {
            let value =
                MessageAttributeValue::builder().data_type(STRING).string_value(value).build()?;
            entry = entry.message_attributes(name, value);
        }
        entry.build()
    }

    fn check_size(&self, limit: usize) -> Result<(), Failure> {
        let size = self.size();
        if size <= limit {
            return Ok(());
        }
        let summary = format!(
            "the message takes {size} bytes with envelope and attributes, and the limit of its \
             topic is {limit}"
        );
        Err(Failure::new(FailureKind::Message, &summary))
    }
}

/// Sizes and names only: payload and values stay out of logs.
impl fmt::Debug for SnsEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnsEntry")
            .field("body_bytes", &self.body.len())
            .field("attributes", &self.attributes().map(|(name, _)| name).collect::<Vec<_>>())
            .field("group_id", &self.group_id)
            .field("deduplication_id", &self.deduplication_id)
            .finish()
    }
}
