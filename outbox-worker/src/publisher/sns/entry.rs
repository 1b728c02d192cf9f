//! One message as SNS gets it.

use aws_sdk_sns::error::BuildError;
use aws_sdk_sns::types::{MessageAttributeValue, PublishBatchRequestEntry};
use outbox_core::{Failure, FailureKind, OutboxMessage, WrappedMessage};

use super::topics::SnsTopic;

/// One message as SNS gets it: checked, and small enough for its topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnsEntry(WrappedMessage);

impl SnsEntry {
    /// Wraps a message in the topic's envelope.
    ///
    /// # Errors
    /// [`FailureKind::Message`] if SNS or a queue behind it would refuse or drop it.
    pub fn new(message: &OutboxMessage, topic: &SnsTopic) -> Result<Self, Failure> {
        let wrapped = topic.profile().wrap(message);
        wrapped.map(Self).map_err(|why| Failure::new(FailureKind::Message, &why.to_string()))
    }

    /// The body.
    pub fn body(&self) -> &str {
        self.0.body()
    }

    /// The message attributes, all of type String, ten at most.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.attributes()
    }

    /// The message group, on FIFO topics.
    pub fn group_id(&self) -> Option<&str> {
        self.0.group_id()
    }

    /// The deduplication id, on FIFO topics.
    pub fn deduplication_id(&self) -> Option<&str> {
        self.0.deduplication_id()
    }

    /// Bytes that SNS counts: the body, and name, type and value of each attribute.
    pub fn size(&self) -> usize {
        self.0.size()
    }

    /// The entry of a request, under this id.
    pub(crate) fn into_request(self, id: usize) -> Result<PublishBatchRequestEntry, BuildError> {
        let mut entry = PublishBatchRequestEntry::builder()
            .id(id.to_string())
            .set_message_group_id(self.group_id().map(str::to_owned))
            .set_message_deduplication_id(self.deduplication_id().map(str::to_owned));
        for (name, value) in self.attributes() {
            let value = MessageAttributeValue::builder()
                .data_type(WrappedMessage::ATTRIBUTE_TYPE)
                .string_value(value)
                .build()?;
            entry = entry.message_attributes(name, value);
        }
        entry.message(self.0.into_body()).build()
    }
}
