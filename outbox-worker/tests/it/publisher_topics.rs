//! Topics and their profiles.

use outbox_core::FailureKind;
use outbox_worker::publisher::sns::{SnsConfigError, SnsTopic, SnsTopics, TopicKind, TopicProfile};

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
fn the_arn_knows_the_kind_better_than_the_profile() {
    let [fifo, standard] =
        [TopicKind::Fifo, TopicKind::Standard].map(|kind| TopicProfile::default().with_kind(kind));

    assert!(!SnsTopic::new(ARN).unwrap().with_profile(fifo).is_fifo());
    let arn = format!("{ARN}.fifo");
    assert!(SnsTopic::new(arn).unwrap().with_profile(standard).is_fifo());
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
