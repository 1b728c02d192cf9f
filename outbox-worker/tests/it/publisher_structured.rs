//! The structured envelope, parsed back.

use std::collections::BTreeMap;

use base64::prelude::{BASE64_STANDARD, Engine};
use outbox_core::{FailureKind, OutboxMessage};
use outbox_worker::publisher::sns::{EnvelopeForm, SnsEntry, SnsTopic, TopicProfile};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::publisher_fixture::{ID, TRACEPARENT, message};

/// The payload as a consumer finds it, and whether it came as it is.
fn payload(message: &OutboxMessage) -> (Vec<u8>, bool) {
    let entry = entry(message);
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(entry.body()).unwrap();
    match (members.get("data"), members.get("data_base64")) {
        (Some(data), None) => (data.get().as_bytes().to_vec(), true),
        (None, Some(data)) => {
            let text: String = serde_json::from_str(data.get()).unwrap();
            (BASE64_STANDARD.decode(text).unwrap(), false)
        }
        _ => unreachable!("there must be data or data_base64"),
    }
}

fn topic() -> SnsTopic {
    SnsTopic::new("arn:aws:sns:us-east-1:000000000000:orders").unwrap()
}

fn entry(message: &OutboxMessage) -> SnsEntry {
    SnsEntry::new(message, &topic()).unwrap()
}

fn document(message: &OutboxMessage) -> Value {
    serde_json::from_str(entry(message).body()).unwrap()
}

/// A message with everything set.
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
    message.headers.push("Priority", "low");
    message.headers.push("priority", "low\u{0}\n\"é");
    message.headers.push("Priority", "");
    message
}

#[test]
fn a_full_message_becomes_a_cloud_event() {
    let mut document = document(&full());

    // The text of the headers is JSON in itself.
    let headers = document.as_object_mut().unwrap().remove("headers").unwrap();
    let headers: Value = serde_json::from_str(headers.as_str().unwrap()).unwrap();
    assert_eq!(
        headers,
        json!([["Priority", "low"], ["priority", "low\u{0}\n\"é"], ["Priority", ""]])
    );
    assert_eq!(
        document,
        json!({
            "specversion": "1.0",
            "id": ID,
            "source": "https://shop.example",
            "type": "orders.placed",
            "subject": "order 7",
            "time": "2026-11-30T12:34:56.123456Z",
            "datacontenttype": "application/json",
            "eventversion": 2,
            "partitionkey": "7",
            "correlationid": "request-1",
            "causationid": "command-1",
            "tenant": "acme",
            "traceparent": TRACEPARENT,
            "tracestate": "vendor=1",
            "data": {"total": 3},
        })
    );
}

#[test]
fn context_attributes_have_names_that_cloud_events_allows() {
    let document = document(&full());

    for (name, value) in document.as_object().unwrap() {
        if name == "data" {
            continue;
        }
        let legal = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        assert!(legal && name.len() <= 20, "{name}");
        assert!(value.is_string() || value.is_i64(), "{name} is {value}");
    }
}

#[test]
fn what_is_absent_or_empty_is_left_out() {
    let mut bare = message(r"{}");
    bare.subject = Some(String::new());
    bare.partition_key = Some(String::new());
    bare.tenant = Some(String::new());
    bare.traceparent = Some(String::new());

    let document = document(&bare);

    let names: Vec<&String> = document.as_object().unwrap().keys().collect();
    let expected =
        ["data", "datacontenttype", "eventversion", "id", "source", "specversion", "time", "type"];
    assert_eq!(names, expected);
}

#[test]
fn json_is_embedded_byte_for_byte() {
    let payloads = [
        r#"{"id":9007199254740993,"big":123456789012345678901234567890}"#,
        r#"{"zeta":1,"alpha":2,"mid":{"b":1,"a":2}}"#,
        r#"{"exact":1.10,"exp":1E+2,"neg":-0}"#,
        r#"{"nul":"a\u0000b","tab":"\t","emoji":"😀","pair":"\ud83d\ude00"}"#,
        r#"{ "spaces" : [ 1 ,  2 ] }"#,
        "{\"lines\":\n[1,\r\n2]}",
        r#"{"twice":1,"twice":2}"#,
        r#"{"data":{"specversion":"0"},"data_base64":"x"}"#,
        "\"text\"",
        "[]",
        "17",
        "null",
        "true",
    ];
    for payload in payloads {
        let (data, embedded) = self::payload(&message(payload));

        assert!(embedded, "{payload}");
        assert_eq!(data, payload.as_bytes(), "{payload}");
    }
}

#[test]
fn what_is_not_json_comes_back_from_base64() {
    let payloads: [&[u8]; 8] = [
        b"{\"open\":",
        b"{} {}",
        b"plain text",
        b"{'single':1}",
        b"\"control \x01\"",
        b"\xff\xfe\x00\x01",
        b"{\"broken utf-8\":\"\xc3\"}",
        b"NaN",
    ];
    for payload in payloads {
        let (data, embedded) = self::payload(&message(payload));

        assert!(!embedded, "{payload:?}");
        assert_eq!(data, payload);
    }
}

#[test]
fn the_media_type_says_whether_a_payload_may_be_embedded() {
    let rows = [
        ("application/json", true),
        ("Application/JSON; charset=utf-8", true),
        ("application/vnd.shop.order+json", true),
        ("text/json", true),
        ("application/x-protobuf", false),
        ("text/plain", false),
        ("application/jsonl", false),
        ("json", false),
        ("", false),
    ];
    for (content_type, embeds) in rows {
        let mut message = message("{\"a\":1}");
        message.content_type = content_type.into();

        let (data, embedded) = payload(&message);

        assert_eq!(embedded, embeds, "{content_type}");
        assert_eq!(data, b"{\"a\":1}");
    }
}

#[test]
fn an_empty_payload_is_an_event_without_data() {
    let document = document(&message(""));

    assert_eq!(document.get("data"), None);
    assert_eq!(document.get("data_base64"), None);
}

#[test]
fn no_body_holds_a_character_with_which_queues_drop_messages() {
    let mut message = message("{\"odd\":\"\u{fffe}\u{ffff}\"}");
    message.subject = Some("\u{fffe}\u{ffff}\u{1}".to_owned());
    message.headers.push("odd", "\u{ffff}");

    let body = entry(&message).body().to_owned();

    let legal = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..);
    assert!(body.chars().all(legal), "{body:?}");
    // They are all there nevertheless.
    let document: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(document["subject"], "\u{fffe}\u{ffff}\u{1}");
    assert_eq!(document["headers"], json!("[[\"odd\",\"\\uffff\"]]"));
    assert_eq!(payload(&message).0, &message.payload[..]);
}

#[test]
fn attributes_are_few_and_fixed() {
    let entry = entry(&full());

    let attributes: Vec<_> = entry.attributes().collect();
    assert_eq!(
        attributes,
        [
            ("content-type", "application/cloudevents+json"),
            ("ce_id", ID),
            ("ce_source", "https://shop.example"),
            ("ce_type", "orders.placed"),
            ("traceparent", TRACEPARENT),
        ]
    );
}

#[test]
fn there_are_never_more_than_ten_attributes() {
    let mut message = full();
    let names = ["h1", "h2", "h3", "h4", "h5"];
    for n in 0..40 {
        message.headers.push(format!("h{n}"), "value");
    }
    let profile = TopicProfile::new(EnvelopeForm::Structured).with_filter_headers(names).unwrap();
    let topic = topic().with_profile(profile);

    let entry = SnsEntry::new(&message, &topic).unwrap();

    assert_eq!(entry.attributes().count(), 10);
    assert!(names.iter().all(|name| entry.attributes().any(|a| a == (name, "value"))));
}

#[test]
fn a_chosen_header_that_is_empty_or_missing_has_no_attribute() {
    let mut message = message("{}");
    message.headers.push("empty", "");
    let profile = TopicProfile::default().with_filter_headers(["empty", "missing"]).unwrap();

    let entry = SnsEntry::new(&message, &topic().with_profile(profile)).unwrap();

    assert!(entry.attributes().all(|(name, _)| name != "empty" && name != "missing"));
}

#[test]
fn a_chosen_header_that_filters_would_ignore_is_the_messages_fault() {
    let mut message = message("{}");
    message.headers.push("region", "eu\twest");
    let profile = TopicProfile::default().with_filter_headers(["region"]).unwrap();

    let failure = SnsEntry::new(&message, &topic().with_profile(profile)).unwrap_err();

    assert_eq!(failure.kind, FailureKind::Message);
    assert!(failure.summary().contains("region") && failure.summary().contains("U+0009"));
    assert!(!failure.summary().contains("west"));
}

#[test]
fn a_bad_trace_context_travels_nowhere() {
    for bad in ["has space", "line\nbreak", "é"] {
        let mut message = message("{}");
        message.traceparent = Some(bad.to_owned());

        let entry = entry(&message);

        assert!(entry.attributes().all(|(name, _)| name != "traceparent"));
        assert!(document(&message).get("traceparent").is_none());
    }
}

#[test]
fn a_message_without_source_or_type_is_refused_before_it_spoils_a_batch() {
    let mut sourceless = message("{}");
    sourceless.source = "".into();
    let mut typeless = message("{}");
    typeless.event_type = "".into();

    for (message, name) in [(sourceless, "ce_source"), (typeless, "ce_type")] {
        let failure = SnsEntry::new(&message, &topic()).unwrap_err();

        assert_eq!(failure.kind, FailureKind::Message);
        assert!(failure.summary().contains(name));
    }
}

#[test]
fn debug_shows_no_payload_and_no_value() {
    let text = format!("{:?}", entry(&full()));

    assert!(!text.contains("total") && !text.contains("shop.example"), "{text}");
    assert!(text.contains("ce_source"));
}
