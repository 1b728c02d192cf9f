//! Which names may travel to a broker.

use crate::error::EncodeError;
use crate::message::OutboxMessage;

/// Checks the name of a topic: 1 to 256 of `A-Z a-z 0-9 . _ - : /`.
///
/// # Errors
/// [`EncodeError::Name`] that says what is allowed.
pub fn check_topic(topic: &str) -> Result<(), EncodeError> {
    check("topic", topic, OutboxMessage::LONGEST_TOPIC, b"._-:/")
}

pub(crate) fn check_event_type(event_type: &str) -> Result<(), EncodeError> {
    check("event type", event_type, OutboxMessage::LONGEST_EVENT_TYPE, b"._-")
}

fn check(
    what: &'static str,
    name: &str,
    longest: usize,
    marks: &'static [u8],
) -> Result<(), EncodeError> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || marks.contains(&byte);
    if name.is_empty() || name.len() > longest || !name.bytes().all(legal) {
        return Err(EncodeError::Name { what, longest });
    }
    Ok(())
}
