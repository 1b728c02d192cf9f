use chrono::{DateTime, Utc};

/// One message that the stub took.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Accepted {
    /// Place in the order of acceptance, from 1.
    pub number: usize,
    /// The publish request that carried it, from 1; entries of one batch share it.
    pub request: usize,
    /// The access key id that its request was signed with; none if it was not signed.
    ///
    /// Publishers with credentials of their own can so be told apart. The signature is not checked.
    pub access_key_id: Option<String>,
    /// The topic it was published to.
    pub topic_arn: String,
    /// The message body.
    pub message: String,
    /// The subject, if one was given.
    pub subject: Option<String>,
    /// The message attributes, in the order of the request.
    pub attributes: Vec<Attribute>,
    /// The message group.
    pub group_id: Option<String>,
    /// The deduplication id as the publisher gave it.
    pub deduplication_id: Option<String>,
    /// Whether a FIFO topic knew it already, so that no subscriber would see it again.
    pub deduplicated: bool,
    /// The id that SNS answered; a deduplicated message bears the id of the first one.
    pub message_id: String,
    /// When it was accepted, by the stub's clock.
    pub received_at: DateTime<Utc>,
    /// What became of the answer.
    pub answer: Answer,
}

impl Accepted {
    /// The value of the attribute with this name.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|attribute| attribute.name == name)
            .map(|attribute| attribute.value.as_str())
    }
}

/// What became of the answer to an accepted message.
///
/// A publisher that was not [`Sent`](Self::Sent) an answer cannot know of the acceptance, so
/// a second message with the same content is then its duty, not its fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The publisher hung up, or the stub stopped, before the answer went out.
    Abandoned,
    /// The answer is still to come.
    Pending,
    /// The answer was handed to the connection. Whether it was read is not known.
    Sent,
    /// A fault kept the answer back or made it unreadable.
    Withheld,
}

/// One message attribute.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Attribute {
    /// The name.
    pub name: String,
    /// The data type: `String`, `Number`, `Binary` or one of these with a suffix.
    pub data_type: String,
    /// The value as it came over the wire: text, or base64 for a `Binary` attribute.
    pub value: String,
}
