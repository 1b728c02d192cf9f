//! The publisher that only logs.

use outbox_core::Publisher;
use outbox_worker::publisher::LogPublisher;

use crate::logs::listen;
use crate::publisher_fixture::{ID, message, numbered};

#[tokio::test]
async fn it_logs_who_and_where_but_neither_payload_nor_headers() {
    let (lines, _logging) = listen();
    let mut message = message(r#"{"card":"4111-secret"}"#);
    message.headers.push("authorization", "Bearer hidden");

    let outcomes = LogPublisher::new().publish(&[message]).await;

    assert!(outcomes[0].is_ok());
    let text = lines.text();
    for shown in [ID, "orders.placed", "topic=\"orders\""] {
        assert!(text.contains(shown), "{shown} is missing in {text}");
    }
    for hidden in ["4111", "Bearer"] {
        assert!(!text.contains(hidden), "{hidden} is in {text}");
    }
}

#[tokio::test]
async fn it_warns_before_the_first_message_and_never_again_that_nothing_is_sent() {
    let (lines, _logging) = listen();
    let publisher = LogPublisher::new();

    publisher.publish(&numbered(2)).await;
    publisher.publish(&numbered(1)).await;

    let text = lines.text();
    let warnings: Vec<_> = text.lines().map(|line| line.contains(" WARN ")).collect();
    assert_eq!(warnings, [true, false, false, false], "{text}");
    assert!(text.contains("counted as published, but they are not sent anywhere"), "{text}");
}
