//! Which names may travel to a broker.

use crate::error::EncodeError;

/// Longest topic name, the limit of an SNS topic name.
const TOPIC: usize = 256;
/// Longest event type; it becomes a message attribute.
const EVENT_TYPE: usize = 128;

/// Checks the name of a topic: 1 to 256 of `A-Z a-z 0-9 . _ - : /`.
///
/// # Errors
/// [`EncodeError::Name`] that says what is allowed.
pub fn check_topic(topic: &str) -> Result<(), EncodeError> {
    check("topic", topic, TOPIC, b"._-:/")
}

pub(crate) fn check_event_type(event_type: &str) -> Result<(), EncodeError> {
    check("event type", event_type, EVENT_TYPE, b"._-")
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
