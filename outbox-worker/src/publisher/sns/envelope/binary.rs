//! The bare payload, with its metadata beside it.

use outbox_core::{Failure, OutboxMessage};

use super::extensions::{Extensions, filled, json, time};
use super::{attributes_of_both, refused};
use crate::publisher::sns::attributes::Attributes;
use crate::publisher::sns::text;

pub(crate) fn wrap(message: &OutboxMessage) -> Result<(String, Attributes), Failure> {
    let mut attributes = attributes_of_both(message, &message.content_type)?;
    attributes.add("ce_specversion", "1.0")?;
    attributes.add("ce_time", &time(message))?;
    if let Some(subject) = filled(message.subject.as_deref()) {
        attributes.add("ce_subject", subject)?;
    }
    // One attribute for the rest, because a message has room for ten.
    attributes.add("ce_extensions", &json(&Extensions::of(message)))?;
    Ok((body(message)?, attributes))
}

fn body(message: &OutboxMessage) -> Result<String, Failure> {
    let body = std::str::from_utf8(&message.payload)
        .map_err(|_| refused("the payload is no UTF-8 text, which the binary form needs"))?;
    if body.is_empty() {
        return Err(refused("the payload is empty, which SNS does not take as a body"));
    }
    if let Some(illegal) = text::illegal_in_body(body) {
        let code = u32::from(illegal);
        let why = format!("the payload holds U+{code:04X}, with which queues drop a message");
        return Err(refused(&why));
    }
    Ok(body.to_owned())
}
