//! `CloudEvents` extension attributes and the text of JSON documents.

use std::fmt::Write as _;

use chrono::SecondsFormat;
use serde::Serialize;

use crate::message::OutboxMessage;

/// Metadata beyond what `CloudEvents` itself names.
///
/// An extension's value is a string or a number, never an object, so the headers are the text of a
/// JSON array of pairs: that keeps their order, their letter case and repeated names.
#[derive(Serialize)]
pub(super) struct Extensions<'a> {
    eventversion: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    partitionkey: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlationid: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    causationid: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tracestate: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    headers: Option<String>,
}

impl<'a> Extensions<'a> {
    pub(super) fn of(message: &'a OutboxMessage) -> Self {
        let headers = &message.headers;
        Self {
            eventversion: message.event_version,
            partitionkey: filled(message.partition_key.as_deref()),
            correlationid: filled(message.correlation_id.as_deref()),
            causationid: filled(message.causation_id.as_deref()),
            tenant: filled(message.tenant.as_deref()),
            tracestate: filled(message.tracestate.as_deref()),
            headers: (!headers.is_empty()).then(|| json(headers)),
        }
    }
}

/// `CloudEvents` knows no empty attributes: an empty one counts as absent.
pub(super) fn filled(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

/// When it happened, to the microsecond.
pub(super) fn time(message: &OutboxMessage) -> String {
    message.occurred_at.to_rfc3339_opts(SecondsFormat::Micros, true)
}

/// The value as JSON that holds only characters which survive the delivery to a queue.
pub(super) fn json(value: &impl Serialize) -> String {
    sized_json(value, 128)
}

/// As [`json`], of about so many bytes: a large one that outgrows its place is in memory twice.
#[expect(clippy::expect_used, reason = "writing texts and numbers to memory cannot fail")]
pub(super) fn sized_json(value: &impl Serialize, bytes: usize) -> String {
    let mut text = Vec::with_capacity(bytes);
    serde_json::to_writer(&mut text, value).expect("texts and numbers are JSON");
    let text = String::from_utf8(text).expect("JSON is text");
    // JSON escapes the control characters but not these two, which stand only inside its strings.
    if !text.contains(['\u{fffe}', '\u{ffff}']) {
        return text;
    }
    text.replace('\u{fffe}', "\\ufffe").replace('\u{ffff}', "\\uffff")
}

/// As [`json`], of characters that also survive in a message attribute.
pub(super) fn attribute_json(value: &impl Serialize) -> String {
    let text = json(value);
    // Those that JSON leaves as they are stand only inside its strings.
    if !text.chars().any(char::is_control) {
        return text;
    }
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            // Writing to a text cannot fail.
            let _ = write!(escaped, "\\u{:04x}", u32::from(character));
        } else {
            escaped.push(character);
        }
    }
    escaped
}
