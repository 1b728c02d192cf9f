//! What every database stores as it is.
//!
//! The databases differ in what they take: PostgreSQL has no text with a NUL character, an index
//! of MariaDB no longer key, and neither of them every instant. What one of them would refuse or
//! change is refused for all, before it is staged.

use std::sync::Arc;

use chrono::{DateTime, Datelike, Utc};

use crate::envelope::{Schedule, StagedMessage};
use crate::error::{EncodeError, TextFault};
use crate::message::{Format, OutboxMessage};
use crate::name;

/// Checks the names, texts and instants of a message.
pub(crate) fn check(staged: &StagedMessage) -> Result<(), EncodeError> {
    let message = &staged.message;
    name::check_event_type(&message.event_type)?;
    name::check_topic(&message.topic)?;
    let refused = |(what, fault)| EncodeError::Text {
        event_type: Arc::clone(&message.event_type),
        what,
        fault,
    };
    check_texts(message).map_err(refused)?;
    check_headers(message).map_err(refused)?;
    check_form(message)?;

    let scheduled = match staged.schedule {
        Schedule::At(instant) => Some(instant),
        Schedule::After(_) | Schedule::Now => None,
    };
    let instants =
        [("time of occurrence", Some(message.occurred_at)), ("delivery time", scheduled)];
    match instants.into_iter().find(|(_, instant)| instant.is_some_and(is_far)) {
        Some((what, _)) => {
            Err(EncodeError::Instant { event_type: Arc::clone(&message.event_type), what })
        }
        None => Ok(()),
    }
}

/// What a worker could not send, or would send in another order.
fn check_form(message: &OutboxMessage) -> Result<(), EncodeError> {
    let event_type = || Arc::clone(&message.event_type);
    if message.format != Format::CURRENT {
        let (format, current) = (message.format.0, Format::CURRENT.0);
        return Err(EncodeError::Format { event_type: event_type(), format, current });
    }
    if message.ordering_key.is_some() && message.ordering_key != message.partition_key {
        return Err(EncodeError::KeyDiffers { event_type: event_type() });
    }
    Ok(())
}

fn check_texts(message: &OutboxMessage) -> Result<(), (String, TextFault)> {
    let texts = [
        ("source", Some(&*message.source)),
        ("content type", Some(&*message.content_type)),
        ("transport", message.transport.as_deref()),
        ("subject", message.subject.as_deref()),
        ("key", message.partition_key.as_deref()),
        ("ordering key", message.ordering_key.as_deref()),
        ("tenant", message.tenant.as_deref()),
        ("correlation id", message.correlation_id.as_deref()),
        ("causation id", message.causation_id.as_deref()),
        ("traceparent", message.traceparent.as_deref()),
        ("tracestate", message.tracestate.as_deref()),
    ];
    for (what, text) in texts {
        let Some(text) = text else { continue };
        let longest = match what {
            "key" | "ordering key" => OutboxMessage::LONGEST_KEY,
            _ => usize::MAX,
        };
        if let Some(fault) = fault(text, longest) {
            return Err((what.to_owned(), fault));
        }
    }
    Ok(())
}

/// A header may have no value but must have a name.
fn check_headers(message: &OutboxMessage) -> Result<(), (String, TextFault)> {
    for (name, value) in message.headers.iter() {
        if let Some(fault) = fault(name, usize::MAX) {
            return Err(("name of a header".to_owned(), fault));
        }
        if has_nul(value) {
            return Err((format!("header `{name}`"), TextFault::Nul));
        }
    }
    Ok(())
}

fn fault(text: &str, longest: usize) -> Option<TextFault> {
    if text.is_empty() {
        Some(TextFault::Empty)
    } else if text.len() > longest {
        Some(TextFault::TooLong { bytes: text.len(), longest })
    } else {
        has_nul(text).then_some(TextFault::Nul)
    }
}

fn has_nul(text: &str) -> bool {
    text.as_bytes().contains(&0)
}

/// Whether the year has not four digits, as RFC 3339 and the databases' literals want it.
fn is_far(instant: DateTime<Utc>) -> bool {
    !(1000..=9999).contains(&instant.year())
}
