//! From an event to what is stored.

#![expect(
    clippy::needless_pass_by_value,
    reason = "a case builds its envelope where it encodes it"
)]

use std::error::Error;
use std::time::Duration;

use chrono::{DateTime, Utc};
use outbox_core::{
    Context, EncodeError, Envelope, EventExt, EventId, Format, Headers, IntoEnvelope, OutboxEvent,
    OutboxMessage, Payload, PayloadError, Schedule,
};

use crate::sample::{Broken, ORDER_PLACED, PLAIN, Plain, request};

fn encode<E: OutboxEvent>(envelope: Envelope<E>) -> OutboxMessage {
    encode_in(envelope, &Context::default())
}

fn encode_in<E: OutboxEvent>(envelope: Envelope<E>, ambient: &Context) -> OutboxMessage {
    envelope.encode("https://shop.example", ambient).unwrap().message
}

fn refusal<E: OutboxEvent>(envelope: Envelope<E>) -> EncodeError {
    envelope.encode("https://shop.example", &Context::default()).unwrap_err()
}

#[test]
fn the_payload_is_the_events_own_json() {
    let message = encode(Envelope::new(ORDER_PLACED));

    assert_eq!(&message.payload[..], br#"{"order_id":7,"total":80}"#);
    assert_eq!(&*message.content_type, "application/json");
}

/// An event of another codec than JSON.
struct Raw;

impl OutboxEvent for Raw {
    fn event_type(&self) -> &'static str {
        "raw"
    }

    fn topic(&self) -> &'static str {
        "plain"
    }

    fn payload(&self) -> Result<Payload, PayloadError> {
        Ok(Payload { content_type: "application/x-raw".into(), bytes: b"\0\xff"[..].into() })
    }
}

#[test]
fn another_payload_travels_with_its_media_type() {
    let message = encode(Envelope::new(Raw));

    assert_eq!(&message.payload[..], b"\0\xff");
    assert_eq!(&*message.content_type, "application/x-raw");
}

#[test]
fn debug_of_a_payload_shows_no_bytes() {
    let payload = Payload { content_type: "text/plain".into(), bytes: "s3cret".into() };

    assert_eq!(format!("{payload:?}"), r#"Payload { content_type: "text/plain", bytes: 6 }"#);
}

#[test]
fn the_events_words_are_fixed_in_the_message() {
    let message = encode(Envelope::new(ORDER_PLACED));

    assert_eq!(message.format, Format::CURRENT);
    assert_eq!(&*message.event_type, "orders.order_placed");
    assert_eq!(message.event_version, 3);
    assert_eq!(&*message.topic, "orders");
    assert_eq!(&*message.source, "https://shop.example");
    assert_eq!(message.subject.as_deref(), Some("orders/7"));
    assert_eq!(message.transport, None);
    assert_eq!(message.deliver_at, None);
    assert_eq!(message.replays, 0);
}

#[test]
fn an_ordered_event_is_ordered_by_its_key() {
    let message = encode(Envelope::new(ORDER_PLACED));

    assert_eq!(message.partition_key.as_deref(), Some("7"));
    assert_eq!(message.ordering_key.as_deref(), Some("7"));
}

#[test]
fn an_unordered_event_keeps_its_key_as_partition_key_only() {
    let message = encode(Envelope::new(Plain { key: Some("7"), ..PLAIN }));

    assert_eq!(message.partition_key.as_deref(), Some("7"));
    assert_eq!(message.ordering_key, None);
}

#[test]
fn without_a_context_an_event_begins_its_own_conversation() {
    let id = EventId::new();

    let message = encode(Envelope::new(ORDER_PLACED).with_id(id));

    assert_eq!(message.correlation_id, Some(id.to_string()));
    assert_eq!(message.causation_id, None);
    assert_eq!(message.traceparent, None);
    assert_eq!(message.tracestate, None);
    assert_eq!(message.tenant, None);
    assert_eq!(message.headers, Headers::new());
}

#[test]
fn an_event_inherits_the_ambient_context() {
    let ambient = request();

    let message = encode_in(Envelope::new(ORDER_PLACED), &ambient);

    assert_eq!(message.correlation_id, ambient.correlation_id);
    assert_eq!(message.causation_id, ambient.causation_id);
    assert_eq!(message.traceparent, ambient.traceparent);
    assert_eq!(message.tracestate, ambient.tracestate);
    assert_eq!(message.tenant, ambient.tenant);
    assert_eq!(message.headers, ambient.headers);
}

#[test]
fn a_context_of_its_own_replaces_the_ambient_one_as_a_whole() {
    let own = Context { causation_id: Some("event-9".into()), ..Context::default() };
    let envelope = Envelope::new(ORDER_PLACED).with_context(own);
    let id = EventId::new();

    let message = encode_in(envelope.with_id(id), &request());

    assert_eq!(message.causation_id.as_deref(), Some("event-9"));
    assert_eq!(message.correlation_id, Some(id.to_string()));
    assert_eq!(message.traceparent, None);
    assert_eq!(message.tenant, None);
    assert!(message.headers.is_empty());
}

#[test]
fn the_events_tenant_goes_before_that_of_the_context() {
    let event = Plain { tenant: Some("south"), ..PLAIN };

    let message = encode_in(Envelope::new(event), &request());

    assert_eq!(message.tenant.as_deref(), Some("south"));
}

#[test]
fn headers_of_the_event_follow_those_of_the_context() {
    let envelope =
        Envelope::new(ORDER_PLACED).with_header("priority", "low").with_header("agent", "batch");

    let message = encode_in(envelope, &request());

    let headers: Vec<_> = message.headers.iter().collect();
    assert_eq!(headers, [("agent", "shop"), ("priority", "low"), ("agent", "batch")]);
}

#[test]
fn many_headers_follow_one_another_in_their_order() {
    let envelope = Envelope::new(ORDER_PLACED)
        .with_header("a", "1")
        .with_headers([("B", "2"), ("a", "3")])
        .with_headers(vec![("c".to_owned(), String::from("4"))])
        .with_headers(Headers::from_iter([("d", "5")]))
        .with_headers([("", ""); 0]);

    let message = encode(envelope);

    let headers: Vec<_> = message.headers.iter().collect();
    assert_eq!(headers, [("a", "1"), ("B", "2"), ("a", "3"), ("c", "4"), ("d", "5")]);
}

#[test]
fn a_topic_of_the_envelope_goes_before_that_of_the_event() {
    let message = encode(Envelope::new(ORDER_PLACED).to_topic("orders-eu"));

    assert_eq!(&*message.topic, "orders-eu");
}

#[test]
fn the_last_word_about_an_envelope_counts() {
    let id = EventId::new();
    let envelope = Envelope::new(PLAIN)
        .with_id(EventId::new())
        .with_id(id)
        .to_topic("first")
        .to_topic("second")
        .via_transport("first")
        .via_transport("second")
        .with_context(request())
        .with_context(Context::default());

    let message = encode(envelope);

    assert_eq!(message.id, id);
    assert_eq!(&*message.topic, "second");
    assert_eq!(message.transport.as_deref(), Some("second"));
    assert_eq!(message.causation_id, None);
}

#[test]
fn an_ordered_event_without_a_key_is_refused() {
    for key in [None, Some("")] {
        let error = refusal(Envelope::new(Plain { ordered: true, key, ..PLAIN }));

        assert!(matches!(error, EncodeError::KeyMissing { event_type: "plain" }), "{error:?}");
        assert!(error.to_string().starts_with("event plain is ordered but has no key"));
    }
}

#[test]
fn a_payload_that_does_not_serialize_is_refused_with_its_cause() {
    let error = refusal(Envelope::new(Broken));

    assert_eq!(error.to_string(), "payload of event broken does not serialize to JSON");
    assert_eq!(error.source().unwrap().to_string(), "the clock is before the epoch");
}

#[test]
fn a_topic_that_no_broker_takes_is_refused() {
    let too_long = "t".repeat(257);
    for topic in ["", "new orders", "órders", "orders\n", "orders;", &too_long] {
        let error = refusal(Envelope::new(PLAIN).to_topic(topic));

        assert!(matches!(error, EncodeError::Name { what: "topic", longest: 256 }), "{topic}");
    }
}

#[test]
fn the_events_own_topic_is_checked_too() {
    let error = refusal(Envelope::new(Plain { topic: "new orders", ..PLAIN }));

    assert!(matches!(error, EncodeError::Name { what: "topic", .. }), "{error:?}");
}

#[test]
fn an_event_type_that_no_broker_takes_is_refused() {
    let too_long: &str = "t".repeat(129).leak();
    for event_type in ["", "orders/placed", "orders:placed", "pédido", too_long] {
        let error = refusal(Envelope::new(Plain { event_type, ..PLAIN }));

        let refused = matches!(error, EncodeError::Name { what: "event type", longest: 128 });
        assert!(refused, "{event_type}");
    }
}

#[test]
fn names_may_use_every_mark_and_the_whole_length() {
    let topic = format!("{}:Az09._-/", "t".repeat(247));
    let event_type: &str = format!("{}Az09._-", "t".repeat(121)).leak();

    let message = encode(Envelope::new(Plain { event_type, ..PLAIN }).to_topic(topic.clone()));

    assert_eq!(&*message.topic, topic);
    assert_eq!(&*message.event_type, event_type);
    assert_eq!((topic.len(), event_type.len()), (256, 128));
}

fn schedule<E: OutboxEvent>(envelope: Envelope<E>) -> Schedule {
    envelope.encode("shop", &Context::default()).unwrap().schedule
}

#[test]
fn the_schedule_is_the_last_one_set() {
    let (delay, instant) = (Duration::from_secs(60), DateTime::<Utc>::UNIX_EPOCH);

    assert_eq!(schedule(Envelope::new(PLAIN)), Schedule::Now);
    assert_eq!(schedule(Envelope::new(PLAIN).at(instant).after(delay)), Schedule::After(delay));
    assert_eq!(schedule(Envelope::new(PLAIN).after(delay).at(instant)), Schedule::At(instant));
}

#[test]
fn an_event_occurs_when_it_is_wrapped() {
    let before = Utc::now();
    let envelope = Envelope::new(PLAIN);
    let after = Utc::now();

    let occurred_at = encode(envelope).occurred_at;

    assert!((before..=after).contains(&occurred_at));
}

#[test]
fn every_envelope_has_an_id_of_its_own() {
    let [first, second] = [PLAIN, PLAIN].map(|event| encode(Envelope::new(event)).id);

    assert_ne!(first, second);
}

#[test]
fn an_envelope_begins_at_the_event() {
    let (id, delay) = (EventId::new(), Duration::from_secs(60));
    let instant = DateTime::<Utc>::UNIX_EPOCH;

    assert_eq!(encode(PLAIN.with_id(id)).id, id);
    assert_eq!(&*encode(PLAIN.to_topic("other")).topic, "other");
    assert_eq!(encode(PLAIN.with_header("a", "b")).headers.value("a"), Some("b"));
    assert_eq!(encode(PLAIN.with_headers([("a", "b")])).headers.value("a"), Some("b"));
    assert_eq!(encode(PLAIN.with_context(request())).tenant.as_deref(), Some("north"));
    assert_eq!(schedule(PLAIN.after(delay)), Schedule::After(delay));
    assert_eq!(schedule(PLAIN.at(instant)), Schedule::At(instant));
}

#[test]
fn an_envelope_is_not_wrapped_twice() {
    let id = EventId::new();

    let envelope = PLAIN.with_id(id).into_envelope();

    assert_eq!(envelope.event().event_type(), "plain");
    assert_eq!(encode(envelope).id, id);
    assert_eq!(encode(ORDER_PLACED.into_envelope()).event_version, 3);
}
