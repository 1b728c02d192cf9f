//! `CloudEvents` extension attributes and the text of JSON documents.

use chrono::SecondsFormat;
use outbox_core::OutboxMessage;
use serde::Serialize;

/// Metadata beyond what `CloudEvents` itself names.
///
/// An extension's value is a string or a number, never an object, so the headers are the text of a
/// JSON array of pairs: that keeps their order, their letter case and repeated names.
#[derive(Serialize)]
pub(crate) struct Extensions<'a> {
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
    pub(crate) fn of(message: &'a OutboxMessage) -> Self {
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
pub(crate) fn filled(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

/// When it happened, to the microsecond.
pub(crate) fn time(message: &OutboxMessage) -> String {
    message.occurred_at.to_rfc3339_opts(SecondsFormat::Micros, true)
}

/// The value as JSON that holds only characters which survive the delivery to a queue.
#[expect(clippy::expect_used, reason = "writing texts and numbers to memory cannot fail")]
pub(crate) fn json(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).expect("texts and numbers are JSON");
    // JSON escapes the control characters but not these two, which stand only inside its strings.
    if !text.contains(['\u{fffe}', '\u{ffff}']) {
        return text;
    }
    text.replace('\u{fffe}', "\\ufffe").replace('\u{ffff}', "\\uffff")
}
