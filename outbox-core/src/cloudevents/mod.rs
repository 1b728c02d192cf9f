//! Messages as `CloudEvents` 1.0: a JSON document, and message attributes of SNS.
//!
//! No official binding of `CloudEvents` to SNS exists; the names of the attributes follow those of
//! the bindings to other brokers.

mod attributes;
mod document;
mod extensions;
mod text;

pub(crate) use attributes::{Attributes, beside_document, beside_payload};
pub(crate) use document::document;
pub(crate) use text::{check_attribute_name, illegal_in_attribute, illegal_in_body};

use crate::message::OutboxMessage;

/// The trace context if it can travel: a bad one is no reason to refuse a message.
fn traceparent(message: &OutboxMessage) -> Option<&str> {
    let plain = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    message.traceparent.as_deref().filter(plain)
}
