//! The binary envelope.

use outbox_core::{FailureKind, OutboxMessage};
use outbox_worker::publisher::sns::{EnvelopeForm, SnsEntry, SnsTopic, TopicProfile};
use serde_json::{Value, json};

use crate::publisher_fixture::{ID, TRACEPARENT, message};

fn wrap(message: &OutboxMessage) -> Result<SnsEntry, outbox_core::Failure> {
    let profile = TopicProfile::new(EnvelopeForm::Binary).with_filter_headers(["tier"]).unwrap();
    let topic = SnsTopic::new("arn:aws:sns:us-east-1:000000000000:orders").unwrap();
    SnsEntry::new(message, &topic.with_profile(profile))
}

fn full() -> OutboxMessage {
    let mut message = message(r#"{"total":3}"#);
    message.event_version = 2;
    message.subject = Some("order 7".to_owned());
    message.partition_key = Some("7".to_owned());
    message.tenant = Some("acme".to_owned());
    message.correlation_id = Some("request-1".to_owned());
    message.causation_id = Some("command-1".to_owned());
    message.traceparent = Some(TRACEPARENT.to_owned());
    message.tracestate = Some("vendor=1".to_owned());
    message.headers.push("tier", "gold");
    message.headers.push("note", "a\nb\u{ffff}");
    message
}

#[test]
fn the_body_is_the_payload_and_the_metadata_is_complete_beside_it() {
    let entry = wrap(&full()).unwrap();

    assert_eq!(entry.body(), r#"{"total":3}"#);
    let mut attributes: Vec<_> = entry.attributes().collect();
    assert_eq!(attributes.len(), 10);
    let (_, extensions) =
        attributes.remove(attributes.iter().position(|(n, _)| *n == "ce_extensions").unwrap());
    assert_eq!(
        attributes,
        [
            ("content-type", "application/json"),
            ("ce_id", ID),
            ("ce_source", "https://shop.example"),
            ("ce_type", "orders.placed"),
            ("traceparent", TRACEPARENT),
            ("ce_specversion", "1.0"),
            ("ce_time", "2026-11-30T12:34:56.123456Z"),
            ("ce_subject", "order 7"),
            ("tier", "gold"),
        ]
    );
    let mut extensions: Value = serde_json::from_str(extensions).unwrap();
    let headers = extensions.as_object_mut().unwrap().remove("headers").unwrap();
    let headers: Value = serde_json::from_str(headers.as_str().unwrap()).unwrap();
    assert_eq!(headers, json!([["tier", "gold"], ["note", "a\nb\u{ffff}"]]));
    assert_eq!(
        extensions,
        json!({
            "eventversion": 2,
            "partitionkey": "7",
            "correlationid": "request-1",
            "causationid": "command-1",
            "tenant": "acme",
            "tracestate": "vendor=1",
        })
    );
}

#[test]
fn text_that_a_queue_carries_goes_out_unchanged() {
    for payload in
        ["tab\tline\r\nend", "emoji 😀 \u{fffd} \u{e000}", "del \u{7f}", " ", "\u{10ffff}"]
    {
        assert_eq!(wrap(&message(payload)).unwrap().body(), payload);
    }
}

#[test]
fn what_a_queue_would_drop_is_refused_before_it_is_sent() {
    let rows: [(&[u8], &str); 8] = [
        (b"", "empty"),
        (b"a\x00b", "U+0000"),
        (b"a\x01b", "U+0001"),
        (b"a\x1fb", "U+001F"),
        ("\u{fffe}".as_bytes(), "U+FFFE"),
        ("\u{ffff}".as_bytes(), "U+FFFF"),
        (b"\xff\xfe", "UTF-8"),
        (b"\xed\xa0\x80", "UTF-8"),
    ];
    for (payload, named) in rows {
        let failure = wrap(&message(payload)).unwrap_err();

        assert_eq!(failure.kind, FailureKind::Message, "{payload:?}");
        assert!(failure.summary().contains(named), "{named} is not in {}", failure.summary());
    }
}

#[test]
fn metadata_that_cannot_be_an_attribute_is_refused_by_name() {
    let mut message = message("{}");
    message.subject = Some("two\nlines".to_owned());

    let failure = wrap(&message).unwrap_err();

    assert_eq!(failure.kind, FailureKind::Message);
    assert!(failure.summary().contains("ce_subject"));
}
