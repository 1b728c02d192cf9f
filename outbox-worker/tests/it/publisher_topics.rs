//! Topics and their profiles.

use outbox_core::FailureKind;
use outbox_worker::publisher::sns::{
    EnvelopeForm, SnsConfigError, SnsTopic, SnsTopics, TopicProfile,
};

const ARN: &str = "arn:aws:sns:eu-west-1:123456789012:orders";
const PREFIX: &str = "arn:aws:sns:eu-west-1:123456789012:";

fn arn(topics: &SnsTopics, name: &str) -> Option<String> {
    topics.resolve(name).ok().map(|topic| topic.arn().to_owned())
}

#[test]
fn a_name_is_an_entry_or_an_arn_or_a_topic_under_the_prefix() {
    let other = "arn:aws-cn:sns:cn-north-1:1:placed";
    let topics =
        SnsTopics::new().with_topic("orders", SnsTopic::new(other).unwrap()).under(PREFIX).unwrap();

    assert_eq!(arn(&topics, "orders").as_deref(), Some(other));
    assert_eq!(arn(&topics, ARN).as_deref(), Some(ARN));
    assert_eq!(arn(&topics, "stock").unwrap(), format!("{PREFIX}stock"));
    assert_eq!(arn(&topics, "stock.fifo").unwrap(), format!("{PREFIX}stock.fifo"));
}

#[test]
fn the_prefix_may_lack_its_last_colon() {
    let topics = SnsTopics::new().under(PREFIX.trim_end_matches(':')).unwrap();

    assert_eq!(arn(&topics, "orders").as_deref(), Some(ARN));
}

#[test]
fn a_name_that_leads_nowhere_is_the_destinations_fault() {
    let entries = SnsTopics::new().with_topic("orders", SnsTopic::new(ARN).unwrap());
    let prefixed = SnsTopics::new().under(PREFIX).unwrap();

    for (topics, name) in [
        (&entries, "stock"),
        (&entries, "arn:aws:sqs:eu-west-1:123456789012:orders"),
        (&prefixed, "with.dot"),
        (&prefixed, "with/slash"),
        (&prefixed, "with:colon"),
        (&prefixed, ".fifo"),
    ] {
        let failure = topics.resolve(name).unwrap_err();

        assert_eq!(failure.kind, FailureKind::Destination, "{name}");
        assert!(failure.summary().contains(name), "{failure}");
    }
}

#[test]
fn only_the_arn_of_a_topic_is_one() {
    let long = format!("{PREFIX}{}", "x".repeat(257));
    for bad in [
        "",
        "orders",
        "arn:aws:sns:eu-west-1:123456789012:",
        "arn:aws:sns:eu-west-1::orders",
        "arn:aws:sns::123456789012:orders",
        "arn:aws:sqs:eu-west-1:123456789012:orders",
        "arn:aws:sns:eu-west-1:123456789012:orders:8f3a",
        "arn:aws:sns:eu-west-1:123456789012:or ders",
        long.as_str(),
    ] {
        assert_eq!(SnsTopic::new(bad), Err(SnsConfigError::Arn), "{bad}");
    }
    for bad in ["", "arn:aws:sns:eu-west-1", ARN, "aws:sns:eu-west-1:123456789012:"] {
        assert_eq!(SnsTopics::new().under(bad).unwrap_err(), SnsConfigError::Prefix, "{bad}");
    }
}

#[test]
fn only_the_suffix_makes_a_topic_fifo() {
    assert!(SnsTopic::new(format!("{ARN}.fifo")).unwrap().is_fifo());
    assert!(!SnsTopic::new(format!("{ARN}fifo")).unwrap().is_fifo());
}

#[test]
fn topics_without_an_entry_share_one_profile() {
    let large = TopicProfile::default().with_limit(TopicProfile::LARGEST_LIMIT).unwrap();
    let topics = SnsTopics::new()
        .with_topic("orders", SnsTopic::new(ARN).unwrap())
        .with_profile(large.clone())
        .under(PREFIX)
        .unwrap();

    assert_eq!(topics.resolve("stock").unwrap().profile(), &large);
    assert_eq!(topics.resolve("orders").unwrap().profile(), &TopicProfile::default());
}

#[test]
fn a_limit_is_one_that_a_topic_can_have() {
    for bad in [0, 1023, 1_048_577] {
        let profile = TopicProfile::default().with_limit(bad);
        assert_eq!(profile.unwrap_err(), SnsConfigError::Limit, "{bad}");
    }
    for good in [1024, 1_048_576] {
        assert_eq!(TopicProfile::default().with_limit(good).unwrap().limit(), good);
    }
}

#[test]
fn a_filter_header_has_a_name_that_sns_allows_and_the_envelope_does_not_use() {
    let long = "x".repeat(257);
    for bad in [
        "",
        ".a",
        "a.",
        "a..b",
        "a b",
        "é",
        "a:b",
        "AWS.x",
        "amazon.X",
        "ce_type",
        "Content-Type",
        "traceparent",
        &long,
    ] {
        let profile = TopicProfile::default().with_filter_headers([bad]);
        assert!(matches!(profile, Err(SnsConfigError::FilterHeader(_))), "{bad}");
    }
    let good = ["a.b", "a-b", "a_b", "A", "awsx"];
    assert_eq!(TopicProfile::default().with_filter_headers(good).unwrap().filter_headers(), good);
}

#[test]
fn there_is_room_for_as_many_filter_headers_as_the_envelope_leaves() {
    for (form, room) in [(EnvelopeForm::Structured, 5), (EnvelopeForm::Binary, 1)] {
        let names = |count: usize| (0..count).map(|n| format!("h{n}"));
        assert!(TopicProfile::new(form).with_filter_headers(names(room)).is_ok());
        assert!(TopicProfile::new(form).with_filter_headers(names(room + 1)).is_err());
    }
    assert!(TopicProfile::default().with_filter_headers(["a", "a"]).is_err());
}
