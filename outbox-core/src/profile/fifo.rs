//! Group and deduplication of messages for FIFO topics.

use xxhash_rust::xxh3::xxh3_128;

use crate::message::OutboxMessage;

/// Longest group id of SNS.
const LONGEST: usize = 128;

/// The group whose messages keep their order: the ordering key, or else the partition key, or else
/// the event id.
pub(super) fn group_id(message: &OutboxMessage) -> String {
    let key = message.ordering_key.as_deref().or(message.partition_key.as_deref());
    match key.filter(|key| !key.is_empty()) {
        Some(key) if is_legal(key) => key.to_owned(),
        // Two keys of one hash would only share a group, which costs speed and no order.
        Some(key) => format!("{:032x}", xxh3_128(key.as_bytes())),
        None => message.id.to_string(),
    }
}

/// What makes SNS drop a second message within five minutes.
///
/// A retry bears the same one, so that an attempt whose answer was lost is not delivered twice. An
/// operator's replay bears another, because it is meant to be delivered again.
pub(super) fn deduplication_id(message: &OutboxMessage) -> String {
    match message.replays {
        0 => message.id.to_string(),
        replays => format!("{}-r{replays}", message.id),
    }
}

/// Up to 128 letters, digits and punctuation marks of ASCII.
fn is_legal(id: &str) -> bool {
    id.len() <= LONGEST && id.bytes().all(|byte| byte.is_ascii_graphic())
}
