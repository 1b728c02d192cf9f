//! What is refused because not every database could store it.

use chrono::{DateTime, TimeZone, Utc};
use outbox_core::{
    Context, EncodeError, Envelope, EventExt, EventId, Format, Headers, OutboxMessage, Schedule,
    StagedMessage, TextFault,
};

use crate::sample::{PLAIN, Plain};

fn message() -> OutboxMessage {
    OutboxMessage::new(EventId::new(), "orders.placed", "orders", "shop", "{}".into())
}

fn normalized(change: impl FnOnce(&mut OutboxMessage)) -> Result<OutboxMessage, EncodeError> {
    let mut message = message();
    change(&mut message);
    let staged = StagedMessage { message, schedule: Schedule::Now };
    staged.normalized().map(|staged| staged.message)
}

/// What is said of a text that this puts into the message.
fn refusal(change: impl FnOnce(&mut OutboxMessage)) -> (String, TextFault) {
    match normalized(change).unwrap_err() {
        EncodeError::Text { event_type, what, fault } => {
            assert_eq!(&*event_type, "orders.placed");
            (what, fault)
        }
        other => panic!("{other}"),
    }
}

type Put = fn(&mut OutboxMessage, &str);

const OPTIONAL: [(&str, Put); 9] = [
    ("transport", |message, text| message.transport = Some(text.into())),
    ("subject", |message, text| message.subject = Some(text.into())),
    ("key", |message, text| message.partition_key = Some(text.into())),
    ("ordering key", |message, text| message.ordering_key = Some(text.into())),
    ("tenant", |message, text| message.tenant = Some(text.into())),
    ("correlation id", |message, text| message.correlation_id = Some(text.into())),
    ("causation id", |message, text| message.causation_id = Some(text.into())),
    ("traceparent", |message, text| message.traceparent = Some(text.into())),
    ("tracestate", |message, text| message.tracestate = Some(text.into())),
];

const NEEDED: [(&str, Put); 3] = [
    ("source", |message, text| message.source = text.into()),
    ("content type", |message, text| message.content_type = text.into()),
    ("name of a header", |message, text| message.headers.push(text, "")),
];

/// An ordering key is the partition key as well.
fn put_whole(message: &mut OutboxMessage, put: Put, text: &str) {
    put(message, text);
    if message.ordering_key.is_some() {
        message.partition_key.clone_from(&message.ordering_key);
    }
}

#[test]
fn a_format_that_no_worker_of_this_version_reads_is_refused() {
    for format in [0, 2, 7] {
        let refused = normalized(|message| message.format = Format(format)).unwrap_err();

        let wanted = format!("has format {format}, and this version writes format 1");
        assert!(refused.to_string().contains(&wanted), "{refused}");
    }
}

#[test]
fn an_ordering_key_that_is_not_the_partition_key_is_refused() {
    for partition_key in [None, Some("another".to_owned())] {
        let refused = normalized(|message| {
            message.partition_key = partition_key;
            message.ordering_key = Some("key".to_owned());
        });

        let said = refused.unwrap_err().to_string();
        assert!(
            said.contains("ordering key of event orders.placed must be its partition"),
            "{said}"
        );
    }
}

#[test]
fn a_nul_character_is_refused_in_every_text_by_its_name() {
    for (what, put) in OPTIONAL.into_iter().chain(NEEDED) {
        for text in ["\0", "a\0b"] {
            let refused = refusal(|message| put(message, text));

            assert_eq!(refused, (what.to_owned(), TextFault::Nul));
        }
    }
    let value = refusal(|message| message.headers.push("note", "a\0b"));
    assert_eq!(value, ("header `note`".to_owned(), TextFault::Nul));
}

#[test]
fn a_text_that_must_be_there_is_not_empty() {
    for (what, put) in NEEDED {
        assert_eq!(refusal(|message| put(message, "")), (what.to_owned(), TextFault::Empty));
    }
}

#[test]
fn other_odd_characters_are_stored() {
    for (_, put) in OPTIONAL.into_iter().chain(NEEDED) {
        for text in ["\u{1}", "line\nbreak\ttab", "\u{ffff}", "\u{10ffff}", " "] {
            normalized(|message| put_whole(message, put, text)).unwrap();
        }
    }
}

#[test]
fn the_payload_may_be_any_bytes() {
    let bytes: &[u8] = b"\0\xff\xfe";

    let message = normalized(|message| message.payload = bytes.into()).unwrap();

    assert_eq!(&message.payload[..], bytes);
}

#[test]
fn a_key_has_at_most_510_bytes() {
    const LONGEST: usize = OutboxMessage::LONGEST_KEY;
    let (longest, wide) = ("k".repeat(LONGEST), "é".repeat(LONGEST / 2));
    let (longer, wider) = (format!("{longest}k"), format!("{wide}é"));
    assert_eq!(LONGEST, 510);
    for (what, put) in &OPTIONAL[2..4] {
        for key in ["k", &longest, &wide] {
            normalized(|message| put_whole(message, *put, key)).unwrap();
        }
        for (key, bytes) in [(&longer, LONGEST + 1), (&wider, LONGEST + 2)] {
            let fault = TextFault::TooLong { bytes, longest: LONGEST };
            assert_eq!(refusal(|message| put(message, key)), ((*what).to_owned(), fault));
        }
    }
}

#[test]
fn other_texts_may_be_longer() {
    let long = "x".repeat(10_000);
    for (what, put) in OPTIONAL.into_iter().chain(NEEDED) {
        if !what.ends_with("key") {
            normalized(|message| put(message, &long)).unwrap();
        }
    }
}

#[test]
fn names_are_checked_in_messages_from_elsewhere() {
    let long = "t".repeat(257);
    for topic in ["", "new orders", "a\0", &long] {
        let error = normalized(|message| message.topic = topic.into()).unwrap_err();

        assert!(matches!(error, EncodeError::Name { what: "topic", longest: 256 }), "{topic}");
    }
    for event_type in ["", "orders placed", "a\0", &long[..129]] {
        let error = normalized(|message| message.event_type = event_type.into()).unwrap_err();

        let refused = matches!(error, EncodeError::Name { what: "event type", longest: 128 });
        assert!(refused, "{event_type}");
    }
}

#[test]
fn an_empty_text_that_may_be_absent_is_absent() {
    let mut plain = None;

    let message = normalized(|message| {
        plain = Some(message.clone());
        for (what, put) in OPTIONAL {
            if what != "ordering key" {
                put(message, "");
            }
        }
    });

    assert_eq!(message.unwrap(), plain.unwrap());
}

#[test]
fn an_empty_ordering_key_is_no_missing_one() {
    let refused = refusal(|message| message.ordering_key = Some(String::new()));

    assert_eq!(refused, ("ordering key".to_owned(), TextFault::Empty));
}

#[test]
fn an_encoded_event_has_no_empty_texts() {
    let empty = Some(String::new());
    let context = Context {
        correlation_id: empty.clone(),
        causation_id: empty.clone(),
        traceparent: empty.clone(),
        tracestate: empty.clone(),
        tenant: empty,
        headers: Headers::new(),
    };
    let id = EventId::new();
    let event = Plain { key: Some(""), tenant: Some(""), ..PLAIN };

    let staged = event.with_id(id).via_transport("").encode("shop", &context).unwrap();

    let message = staged.message;
    assert_eq!(message.correlation_id, Some(id.to_string()));
    let others = [
        message.transport,
        message.subject,
        message.partition_key,
        message.ordering_key,
        message.tenant,
        message.causation_id,
        message.traceparent,
        message.tracestate,
    ];
    assert_eq!(others, [const { None }; 8]);
}

#[test]
fn an_empty_tenant_of_the_event_leaves_the_contexts() {
    let context = Context { tenant: Some("north".into()), ..Context::default() };

    let staged = Envelope::new(Plain { tenant: Some(""), ..PLAIN }).encode("shop", &context);

    assert_eq!(staged.unwrap().message.tenant.as_deref(), Some("north"));
}

#[test]
fn what_an_event_says_is_checked_when_it_is_encoded() {
    let nul = PLAIN.with_header("note", "\0").encode("shop", &Context::default());
    let long: &str = "k".repeat(511).leak();
    let key = Envelope::new(Plain { key: Some(long), ..PLAIN }).encode("shop", &Context::default());

    assert_eq!(
        nul.unwrap_err().to_string(),
        "header `note` of event plain holds a NUL character, which no text of a database may: \
         remove it from the event"
    );
    assert_eq!(
        key.unwrap_err().to_string(),
        "key of event plain is 511 bytes long, and the longest is 510: shorten it, or use its hash"
    );
}

#[test]
fn an_instant_has_a_year_of_four_digits() {
    let year = |year| Utc.with_ymd_and_hms(year, 1, 1, 0, 0, 0).unwrap();
    let last = "9999-12-31T23:59:59.999999Z".parse().unwrap();
    for good in [year(1000), year(2026), last] {
        PLAIN.at(good).encode("shop", &Context::default()).unwrap();
        normalized(|message| message.occurred_at = good).unwrap();
    }
    for bad in [year(999), year(10_000), DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC] {
        let scheduled = PLAIN.at(bad).encode("shop", &Context::default()).unwrap_err();
        let occurred = normalized(|message| message.occurred_at = bad).unwrap_err();

        assert!(matches!(scheduled, EncodeError::Instant { what: "delivery time", .. }));
        let text = "time of occurrence of event orders.placed is not in the years 1000 to 9999";
        assert_eq!(occurred.to_string(), text);
    }
}
