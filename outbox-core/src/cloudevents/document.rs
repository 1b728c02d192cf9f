//! The `CloudEvents` JSON document.

use base64::prelude::{BASE64_STANDARD, Engine};
use serde::Serialize;
use serde_json::value::RawValue;

use super::extensions::{Extensions, filled, sized_json, time};
use super::{text, traceparent};
use crate::message::OutboxMessage;

/// Room for the names of the members and what has a fixed length.
const FRAME: usize = 512;

pub(super) const MEDIA_TYPE: &str = "application/cloudevents+json";

#[derive(Serialize)]
struct CloudEvent<'a> {
    specversion: &'static str,
    id: String,
    source: &'a str,
    r#type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<&'a str>,
    time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    datacontenttype: Option<&'a str>,
    #[serde(flatten)]
    extensions: Extensions<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    traceparent: Option<&'a str>,
    #[serde(flatten)]
    data: Data<'a>,
}

#[derive(Default, Serialize)]
struct Data<'a> {
    #[serde(rename = "data", skip_serializing_if = "Option::is_none")]
    json: Option<&'a RawValue>,
    #[serde(rename = "data_base64", skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

/// The message as one JSON document, of characters that survive the delivery to a queue.
pub(crate) fn document(message: &OutboxMessage) -> String {
    let document = CloudEvent {
        specversion: "1.0",
        id: message.id.to_string(),
        source: &message.source,
        r#type: &message.event_type,
        subject: filled(message.subject.as_deref()),
        time: time(message),
        datacontenttype: filled(Some(&message.content_type)),
        extensions: Extensions::of(message),
        traceparent: traceparent(message),
        data: data(message),
    };
    // A third more is what base64 takes.
    sized_json(&document, message.size() / 3 * 4 + FRAME)
}

fn data(message: &OutboxMessage) -> Data<'_> {
    if message.payload.is_empty() {
        return Data::default();
    }
    match embeddable(message) {
        Some(json) => Data { json: Some(json), base64: None },
        None => Data { json: None, base64: Some(BASE64_STANDARD.encode(&message.payload)) },
    }
}

/// The payload if it can stand in the document as it is.
///
/// It is checked and not parsed, so that numbers, spaces and the order of members stay as they are.
fn embeddable(message: &OutboxMessage) -> Option<&RawValue> {
    if !is_json(&message.content_type) {
        return None;
    }
    let json: &RawValue = serde_json::from_slice(&message.payload).ok()?;
    text::illegal_in_body(json.get()).is_none().then_some(json)
}

/// Whether this media type is that of JSON, in the words of the `CloudEvents` specification.
fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    let Some((_, subtype)) = essence.split_once('/') else { return false };
    let subtype = subtype.to_ascii_lowercase();
    subtype == "json" || subtype.ends_with("+json")
}
