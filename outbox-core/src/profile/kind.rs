//! The two kinds of topics.

/// Whether a topic keeps the order of each message group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TopicKind {
    /// It keeps the order of each message group and drops repeated messages.
    ///
    /// The group is the ordering key, or else the partition key, or else the event id: an event
    /// without a key is a group of its own, and no event is refused for want of one.
    Fifo,
    /// It promises no order.
    #[default]
    Standard,
}
