//! What a topic takes, by its profile.

use outbox_core::{
    EncodeError, EnvelopeForm, EventId, OutboxMessage, TopicKind, TopicProfile, TopicProfiles,
    Unsendable,
};

const LIMIT: usize = TopicProfile::DEFAULT_LIMIT;
const FORMS: [EnvelopeForm; 2] = [EnvelopeForm::Binary, EnvelopeForm::Structured];

fn message(payload: impl Into<bytes::Bytes>) -> OutboxMessage {
    let source = "https://shop.example";
    OutboxMessage::new(EventId::new(), "orders.placed", "orders", source, payload.into())
}

fn with(change: impl FnOnce(&mut OutboxMessage)) -> OutboxMessage {
    let mut message = message(r#"{"total":3}"#);
    change(&mut message);
    message
}

/// What both ways to ask say, which is the same.
fn refusal(profile: &TopicProfile, message: &OutboxMessage) -> Option<Unsendable> {
    let checked = profile.check(message).err();
    assert_eq!(checked, profile.wrap(message).err(), "{message:?}");
    checked
}

#[test]
fn a_limit_is_one_that_a_topic_can_have() {
    for bad in [0, 1023, 1_048_577] {
        let error = TopicProfile::default().with_limit(bad).unwrap_err();
        assert_eq!(error.to_string(), "setting limit must be 1024 to 1048576 bytes", "{bad}");
    }
    for good in [1024, 1_048_576] {
        assert_eq!(TopicProfile::default().with_limit(good).unwrap().limit(), good);
    }
}

#[test]
fn a_filter_header_has_a_name_that_sns_allows_and_the_envelope_does_not_use() {
    let long = "x".repeat(257);
    for (bad, wanted) in [
        ("", "1 to 256"),
        ("a b", "1 to 256"),
        ("é", "1 to 256"),
        ("a:b", "1 to 256"),
        (&long, "1 to 256"),
        (".a", "dot"),
        ("a.", "dot"),
        ("a..b", "dot"),
        ("AWS.x", "reserved"),
        ("aWs.x", "reserved"),
        ("amazon.X", "reserved"),
        ("Amazon.", "dot"),
        ("ce_type", "envelope"),
        ("CE_x", "envelope"),
        ("Content-Type", "envelope"),
        ("traceparent", "envelope"),
    ] {
        let error = TopicProfile::default().with_filter_headers([bad]).unwrap_err();

        assert_eq!(error.key(), "filter_headers");
        assert!(error.to_string().contains(wanted), "{bad}: {error}");
    }
    let good = ["a.b", "a-b", "a_b", "A", &long[..256]];
    assert_eq!(TopicProfile::default().with_filter_headers(good).unwrap().filter_headers(), good);
    assert!(TopicProfile::default().with_filter_headers(["awsx", "amazonx", "aws"]).is_ok());
}

#[test]
fn there_is_room_for_as_many_filter_headers_as_the_envelope_leaves() {
    for (form, room) in [(EnvelopeForm::Structured, 5), (EnvelopeForm::Binary, 1)] {
        let names = |count: usize| (0..count).map(|n| format!("h{n}"));
        assert_eq!(form.spare_attributes(), room);
        assert!(TopicProfile::new(form).with_filter_headers(names(room)).is_ok());
        assert!(TopicProfile::new(form).with_filter_headers(names(room + 1)).is_err());
    }
    assert!(TopicProfile::default().with_filter_headers(["a", "a"]).is_err());
    assert!(TopicProfile::default().with_filter_headers(["a", "A"]).is_ok());
}

#[test]
fn a_full_message_never_has_more_than_ten_attributes() {
    let full = with(|message| {
        message.subject = Some("order 7".into());
        message.partition_key = Some("7".into());
        message.tenant = Some("north".into());
        message.traceparent =
            Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into());
        message.tracestate = Some("vendor=1".into());
        message.headers.extend((0..40).map(|n| (format!("h{n}"), "value")));
    });
    for form in FORMS {
        let names = (0..form.spare_attributes()).map(|n| format!("h{n}"));
        let profile = TopicProfile::new(form).with_filter_headers(names).unwrap();

        assert_eq!(profile.wrap(&full).unwrap().attributes().count(), 10, "{form:?}");
    }
}

#[test]
fn the_limit_counts_bytes_of_the_body_and_of_each_attributes_name_type_and_value() {
    for form in FORMS {
        let profile = TopicProfile::new(form).with_filter_headers(["tier"]).unwrap();
        let message = with(|message| {
            message.payload = "\"é\"".into();
            message.headers.push("tier", "gold");
        });

        let wrapped = profile.wrap(&message).unwrap();

        let attribute = |(name, value): (&str, &str)| name.len() + "String".len() + value.len();
        let attributes: usize = wrapped.attributes().map(attribute).sum();
        assert!(wrapped.attributes().any(|attribute| attribute == ("tier", "gold")));
        assert_eq!(wrapped.size(), wrapped.body().len() + attributes);
    }
}

#[test]
fn a_message_may_fill_the_limit_and_not_a_byte_more() {
    for form in FORMS {
        let around = TopicProfile::new(form).wrap(&message("1")).unwrap().size() - 1;
        for limit in [1024, LIMIT, TopicProfile::LARGEST_LIMIT] {
            let profile = TopicProfile::new(form).with_limit(limit).unwrap();
            let digits = "1".repeat(limit - around);

            assert_eq!(refusal(&profile, &message(digits.clone())), None);
            let refused = refusal(&profile, &message(digits + "1"));
            assert_eq!(refused, Some(Unsendable::TooLarge { size: limit + 1, limit }));
        }
    }
}

#[test]
fn metadata_and_base64_count_as_what_they_become() {
    let profile = TopicProfile::default();
    let of = |message: &OutboxMessage| profile.wrap(message).unwrap().size();
    let bare = of(&message("1"));

    // A control character in a header is escaped twice.
    let escaped = with(|message| message.headers.push("n", "\u{1}".repeat(1000)));
    assert!(of(&escaped) > bare + 7_000);
    // Three bytes that are no JSON become four.
    let binary = message(vec![0xff_u8; 3_000]);
    assert!(of(&binary) >= bare + 4_000);

    let too_much = with(|message| message.headers.push("n", "\u{1}".repeat(LIMIT / 7)));
    assert!(matches!(refusal(&profile, &too_much), Some(Unsendable::TooLarge { .. })));
    let too_much = message(vec![0xff_u8; LIMIT / 4 * 3]);
    assert!(matches!(refusal(&profile, &too_much), Some(Unsendable::TooLarge { .. })));
}

#[test]
fn a_binary_body_is_text_that_a_queue_carries() {
    let profile = TopicProfile::new(EnvelopeForm::Binary);
    let character = |character| Some(Unsendable::BodyCharacter { character });
    let rows: [(&[u8], Option<Unsendable>); 14] = [
        (b"", Some(Unsendable::BodyEmpty)),
        (b"a\x00b", character('\0')),
        (b"a\x01b", character('\u{1}')),
        (b"\x08", character('\u{8}')),
        (b"\x0b", character('\u{b}')),
        (b"a\x1fb", character('\u{1f}')),
        ("\u{fffe}".as_bytes(), character('\u{fffe}')),
        ("\u{ffff}".as_bytes(), character('\u{ffff}')),
        (b"\xff\xfe", Some(Unsendable::BodyNotText)),
        (b"\xed\xa0\x80", Some(Unsendable::BodyNotText)),
        (b"tab\tline\r\n", None),
        (b" ", None),
        ("\u{fffd}\u{e000}\u{10ffff}\u{7f}".as_bytes(), None),
        (br#"{"nul":"\u0000"}"#, None),
    ];
    for (payload, expected) in rows {
        assert_eq!(refusal(&profile, &message(payload)), expected, "{payload:?}");
    }
}

#[test]
fn a_document_holds_any_payload() {
    let profile = TopicProfile::default();
    for payload in [&b""[..], b"a\x00b", b"\xff\xfe", "\u{ffff}".as_bytes()] {
        assert_eq!(refusal(&profile, &message(payload)), None, "{payload:?}");
    }
}

/// SNS takes an attribute with such a value, and then filters ignore it or a queue drops it.
const LOST: [char; 9] =
    ['\t', '\n', '\r', '\0', '\u{1f}', '\u{7f}', '\u{85}', '\u{fffe}', '\u{ffff}'];

#[test]
fn an_attribute_holds_no_character_that_is_lost_on_the_way() {
    let with_header = |form| TopicProfile::new(form).with_filter_headers(["tier"]).unwrap();
    let [binary, structured] = FORMS.map(with_header);
    for character in LOST {
        let text = format!("a{character}b");
        let lost = |attribute: &str| {
            Some(Unsendable::AttributeCharacter { attribute: attribute.to_owned(), character })
        };
        let source = with(|message| message.source = text.as_str().into());
        let header = with(|message| message.headers.push("tier", text.clone()));
        let subject = with(|message| message.subject = Some(text.clone()));
        let others = with(|message| {
            message.tenant = Some(text.clone());
            message.headers.push(text.clone(), text.clone());
        });
        for profile in [&binary, &structured] {
            assert_eq!(refusal(profile, &source), lost("ce_source"));
            assert_eq!(refusal(profile, &header), lost("tier"));
        }
        assert_eq!(refusal(&binary, &subject), lost("ce_subject"));
        // JSON escapes it.
        assert_eq!(refusal(&structured, &subject), None);
        assert_eq!(refusal(&structured, &others), None);
        assert_eq!(refusal(&binary, &others), None);
    }
}

#[test]
fn an_attribute_has_a_value_but_an_empty_filter_header_is_none() {
    let profile = TopicProfile::default().with_filter_headers(["tier"]).unwrap();
    let empty = |attribute: &str| Some(Unsendable::AttributeEmpty { attribute: attribute.into() });

    let sourceless = with(|message| message.source = "".into());
    let typeless = with(|message| message.event_type = "".into());
    let header = with(|message| message.headers.push("tier", ""));

    assert_eq!(refusal(&profile, &sourceless), empty("ce_source"));
    assert_eq!(refusal(&profile, &typeless), empty("ce_type"));
    assert_eq!(refusal(&profile, &header), None);
}

#[test]
fn a_fifo_topic_takes_events_without_a_key() {
    let profile = TopicProfile::default().with_kind(TopicKind::Fifo);
    let message = message("{}");

    let wrapped = profile.wrap(&message).unwrap();

    let id = message.id.to_string();
    assert_eq!(wrapped.group_id(), Some(&*id));
    assert_eq!(wrapped.deduplication_id(), Some(&*id));
    assert_eq!(refusal(&profile, &message), None);
    let standard = TopicProfile::default().wrap(&message).unwrap();
    assert_eq!((standard.group_id(), standard.deduplication_id()), (None, None));
}

#[test]
fn a_topic_without_a_profile_counts_in_its_largest_form() {
    let none = TopicProfiles::new();
    let [binary, structured] =
        FORMS.map(|form| TopicProfile::new(form).wrap(&message("1")).unwrap().size() - 1);
    assert!(binary < structured);

    // JSON is largest as a document.
    assert!(none.check(&message("1".repeat(LIMIT - structured))).is_ok());
    let refused = none.check(&message("1".repeat(LIMIT - structured + 1))).unwrap_err();
    let expected = Unsendable::TooLarge { size: LIMIT + 1, limit: LIMIT };
    assert!(matches!(refused, EncodeError::Unsendable { reason, .. } if reason == expected));

    // Space around JSON is no part of the document, but of the bare payload.
    let spaces = " ".repeat(LIMIT - binary);
    assert!(none.check(&message(format!("{spaces}1"))).is_err());
    assert!(none.check(&message(format!("{}1", &spaces[1..]))).is_ok());
}

#[test]
fn a_topic_without_a_profile_may_have_what_only_one_form_refuses() {
    let none = TopicProfiles::new();

    assert!(none.check(&message("")).is_ok());
    assert!(none.check(&message(vec![0xff_u8; 150_000])).is_ok());
    assert!(none.check(&with(|message| message.subject = Some("two\nlines".into()))).is_ok());
    assert!(none.check(&with(|message| message.source = "two\nlines".into())).is_err());
}

#[test]
fn a_profile_is_the_topics_own_or_the_default() {
    let large = TopicProfile::default().with_limit(TopicProfile::LARGEST_LIMIT).unwrap();
    let small = TopicProfile::default().with_limit(TopicProfile::SMALLEST_LIMIT).unwrap();
    let profiles = TopicProfiles::new().with_topic("orders", large.clone());
    let all = profiles.clone().with_default(small.clone());
    let payload = "1".repeat(LIMIT);

    assert_eq!(profiles.of("orders"), Some(&large));
    assert_eq!(profiles.of("stock"), None);
    assert_eq!(all.of("stock"), Some(&small));
    assert!(all.check(&message(payload.clone())).is_ok());
    let mut stock = message(payload.as_bytes()[..1024].to_vec());
    stock.topic = "stock".into();
    assert!(all.check(&stock).is_err());
    assert!(profiles.check(&stock).is_ok());
}

#[test]
fn a_refusal_names_event_topic_figure_limit_and_cure() {
    let refused = TopicProfiles::new().check(&message("1".repeat(LIMIT))).unwrap_err().to_string();

    for said in ["orders.placed", "topic orders", "262144", "MaximumMessageSize", "profile"] {
        assert!(refused.contains(said), "{said} is not in {refused}");
    }
    let size = TopicProfile::default()
        .with_limit(TopicProfile::LARGEST_LIMIT)
        .unwrap()
        .wrap(&message("1".repeat(LIMIT)))
        .unwrap()
        .size();
    assert!(refused.contains(&format!("takes {size} bytes")), "{refused}");
}
