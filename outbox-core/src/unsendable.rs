//! Why a destination would not take a message.

/// Why a destination would refuse a message, or take it and lose it.
///
/// It quotes no value of the message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unsendable {
    /// An attribute has a character with which SNS ignores it in filters, or a queue drops it.
    #[error(
        "message attribute `{attribute}` holds U+{:04X}, with which it is lost on the way: remove \
         the character",
        u32::from(*character)
    )]
    AttributeCharacter {
        /// Name of the attribute.
        attribute: String,
        /// The first such character.
        character: char,
    },
    /// An attribute without a value.
    #[error("message attribute `{attribute}` is empty, which SNS refuses: give it a value")]
    AttributeEmpty {
        /// Name of the attribute.
        attribute: String,
    },
    /// A payload with a character with which queues drop the message.
    #[error(
        "the payload holds U+{:04X}, with which queues drop a message: remove the character, or \
         use the structured form",
        u32::from(*character)
    )]
    BodyCharacter {
        /// The first such character.
        character: char,
    },
    /// An empty payload that would be the body.
    #[error(
        "the payload is empty, which SNS does not take as a body: give it content, or use the \
         structured form"
    )]
    BodyEmpty,
    /// A payload of other bytes than text that would be the body.
    #[error(
        "the payload is no UTF-8 text, which the binary form needs: use another codec, or the \
         structured form"
    )]
    BodyNotText,
    /// More bytes than the topic takes.
    #[error(
        "the message takes {size} bytes with envelope and attributes, and the limit of its topic \
         is {limit}: make it smaller, or raise the topic's MaximumMessageSize and the limit of its \
         profile"
    )]
    TooLarge {
        /// Bytes of body and attributes.
        size: usize,
        /// How many the topic takes.
        limit: usize,
    },
}
