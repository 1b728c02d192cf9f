//! What an operator reads when sending begins to fail and when it works again.

use std::time::Duration;

use outbox_core::{FailureKind, OutboxMessage};
use outbox_testing::Times;

use crate::logs::{Lines, listen};
use crate::rig::{Rig, failure, message};

const FAILS: &str = "sending fails: records are tried again";
const WORKS: &str = "topic works again";

/// Longer than a topic has to work before that is said, and than the worker takes to look.
const CALM: Duration = Duration::from_secs(15);

fn stage(rig: &Rig, topic: &str, records: usize) {
    for _ in 0..records {
        rig.store.stage(message(topic));
    }
}

fn counts(lines: &Lines, topic: &str) -> (usize, usize) {
    let of_topic = |text| lines.with(text).iter().filter(|line| line.contains(topic)).count();
    (of_topic(FAILS), of_topic(WORKS))
}

#[tokio::test(start_paused = true)]
async fn a_topic_that_fails_is_told_once_and_once_that_it_works_again() {
    let (lines, _logging) = listen();
    let rig = Rig::new();
    rig.publisher.fail_when(|_| true, Times::Always, failure(FailureKind::Transient));
    stage(&rig, "orders", 25);

    let worker = rig.start();
    rig.publisher.sent_at_least(60).await;
    let failing = counts(&lines, "orders");
    rig.publisher.recover();
    rig.until_empty().await;
    assert_eq!(counts(&lines, "orders"), (1, 0), "it has worked for an instant only");
    rig.pass(CALM).await;
    worker.stop().await;

    assert_eq!(failing, (1, 0), "{}", lines.text());
    assert_eq!(counts(&lines, "orders"), (1, 1), "{}", lines.text());
    let [line] = &lines.with(FAILS)[..] else { unreachable!("counted above") };
    assert!(line.contains(" WARN ") && line.contains("as the test says"), "{line}");
}

#[tokio::test(start_paused = true)]
async fn a_topic_that_fails_once_more_is_told_once_more() {
    let (lines, _logging) = listen();
    let rig = Rig::new();
    let worker = rig.start();

    for outages in 1..=2 {
        rig.publisher.fail_when(|_| true, Times::Always, failure(FailureKind::Transient));
        stage(&rig, "orders", 3);
        rig.pass(Duration::from_mins(1)).await;
        rig.publisher.recover();
        rig.until_empty().await;
        rig.pass(CALM).await;

        assert_eq!(counts(&lines, "orders"), (outages, outages), "{}", lines.text());
    }
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn each_topic_is_told_by_its_name_and_one_that_works_is_not() {
    let (lines, _logging) = listen();
    let rig = Rig::new();
    let fails = |message: &OutboxMessage| &*message.topic != "stock";
    rig.publisher.fail_when(fails, Times::Always, failure(FailureKind::Ambiguous));
    for topic in ["orders", "stock", "reports"] {
        stage(&rig, topic, 5);
    }

    let worker = rig.start();
    rig.publisher.sent_at_least(50).await;
    rig.publisher.recover();
    rig.until_empty().await;
    rig.pass(CALM).await;
    worker.stop().await;

    assert_eq!(counts(&lines, "topic=orders"), (1, 1), "{}", lines.text());
    assert_eq!(counts(&lines, "topic=reports"), (1, 1), "{}", lines.text());
    assert_eq!(counts(&lines, "stock"), (0, 0), "{}", lines.text());
}

#[tokio::test(start_paused = true)]
async fn a_topic_that_fails_now_and_then_is_told_once() {
    for (kind, told) in
        [(FailureKind::Transient, FAILS), (FailureKind::Throttled, "topic is throttled")]
    {
        let (lines, _logging) = listen();
        let rig = Rig::new();
        let worker = rig.start();

        for _ in 0..20 {
            rig.publisher.fail_next(failure(kind));
            stage(&rig, "orders", 3);
            rig.until_empty().await;
        }

        assert_eq!(lines.with(told).len(), 1, "{}", lines.text());
        assert_eq!(lines.with(WORKS).len(), 0, "{}", lines.text());
        worker.stop().await;
    }
}

/// A topic that is throttled all the time must not hide that it breaks.
#[tokio::test(start_paused = true)]
async fn a_throttled_topic_that_breaks_is_told_as_well() {
    let (lines, _logging) = listen();
    let rig = Rig::new();
    let worker = rig.start();

    rig.publisher.fail_next(failure(FailureKind::Throttled));
    stage(&rig, "orders", 3);
    rig.until_empty().await;
    rig.publisher.fail_next(failure(FailureKind::Destination));
    stage(&rig, "orders", 3);
    rig.until_empty().await;

    assert_eq!(lines.with("topic is throttled").len(), 1, "{}", lines.text());
    assert_eq!(lines.with("topic is paused").len(), 1, "{}", lines.text());
    worker.stop().await;
}

/// It has a line of its own when it dies, and says nothing about its topic.
#[tokio::test(start_paused = true)]
async fn a_message_that_is_refused_is_no_topic_that_fails() {
    let (lines, _logging) = listen();
    let rig = Rig::new();
    rig.publisher.fail_next(failure(FailureKind::Message));
    stage(&rig, "orders", 5);

    let worker = rig.start();
    rig.until_empty().await;
    worker.stop().await;

    assert_eq!(counts(&lines, "orders"), (0, 0), "{}", lines.text());
    assert!(lines.text().contains("as the test says"), "{}", lines.text());
}
