//! What the SNS publisher makes of faults, with the SDK's own client in between.

use std::time::Duration;

use outbox_core::{FailureKind, Publisher};
use outbox_testing::sns::{Entries, Fault};
use outbox_worker::publisher::sns::{SnsPublisher, client};

use crate::publisher_endpoint::{
    HASTY, PATIENT, answering, config, publisher, publisher_at, resetting, response, stub, topics,
};
use crate::publisher_fixture::{message, numbered, words};

fn refuse(status: u16, code: &str, message: &str) -> Fault {
    Fault::Refuse { status, code: code.to_owned(), message: message.to_owned() }
}

#[tokio::test]
async fn each_fault_has_its_kind_after_one_request() {
    use FailureKind::{Ambiguous, Credentials, Destination, Throttled, Transient};
    let arn = "Invalid parameter: TopicArn";
    // The fault, the kind, the code, and how many messages SNS took nevertheless.
    let rows = [
        (Fault::Throttle, Throttled, Some("Throttling"), 0),
        (refuse(429, "Throttled", "Rate exceeded"), Throttled, Some("Throttled"), 0),
        (refuse(400, "KMSThrottling", "kms"), Throttled, Some("KMSThrottling"), 0),
        (Fault::ServiceUnavailable, Transient, Some("ServiceUnavailable"), 0),
        (Fault::InternalError, Ambiguous, Some("InternalError"), 0),
        (Fault::Html503, Ambiguous, None, 0),
        (Fault::DropBeforeAccept, Ambiguous, None, 0),
        (Fault::DropAfterAccept, Ambiguous, None, 2),
        (Fault::DropMidAnswer, Ambiguous, None, 2),
        (Fault::Garbage200, Ambiguous, None, 2),
        (Fault::ExpiredToken, Credentials, Some("ExpiredToken"), 0),
        (refuse(403, "SignatureDoesNotMatch", "x"), Credentials, Some("SignatureDoesNotMatch"), 0),
        (Fault::Denied, Destination, Some("AuthorizationError"), 0),
        (refuse(400, "KMSDisabled", "kms"), Destination, Some("KMSDisabled"), 0),
        (refuse(400, "InvalidParameter", arn), Destination, Some("InvalidParameter"), 0),
        (refuse(400, "InvalidAction", "x"), Destination, Some("InvalidAction"), 0),
    ];
    for (fault, kind, code, accepted) in rows {
        let stub = stub().await;
        let row = format!("{fault:?}");
        stub.otherwise(fault);

        let outcomes = publisher(&stub, PATIENT).publish(&numbered(2)).await;

        assert_eq!(words(&outcomes), [kind.as_str(); 2], "{row}");
        for outcome in &outcomes {
            assert_eq!(outcome.as_ref().unwrap_err().code.as_deref(), code, "{row}");
        }
        assert_eq!(stub.journal().len(), accepted, "{row}");
        assert_eq!(stub.requests().publish_batch, 1, "{row}");
    }
}

#[tokio::test]
async fn a_deleted_topic_is_the_destinations_fault() {
    let stub = stub().await;
    stub.delete_topic(&stub.topic_arn("orders"));

    let outcomes = publisher(&stub, PATIENT).publish(&numbered(2)).await;

    assert_eq!(words(&outcomes), ["destination"; 2]);
    let failure = outcomes[0].as_ref().unwrap_err();
    assert_eq!(failure.code.as_deref(), Some("NotFound"));
    assert!(failure.summary().contains(&stub.topic_arn("orders")), "{failure}");
}

#[tokio::test]
async fn a_fault_of_the_destination_names_its_topic_once() {
    let arn = stub().await.topic_arn("orders");
    let named = format!("not authorized to perform: SNS:Publish on resource: {arn}");
    for (text, summary) in [
        ("Topic does not exist", format!("topic {arn}: Topic does not exist")),
        ("", format!("topic {arn}")),
        (&named, named.clone()),
    ] {
        let stub = stub().await;
        stub.script([refuse(403, "AuthorizationError", text)]);

        let outcomes = publisher(&stub, PATIENT).publish(&numbered(1)).await;

        assert_eq!(outcomes[0].as_ref().unwrap_err().summary(), summary);
    }
}

#[tokio::test]
async fn a_failed_entry_names_its_topic_too() {
    let stub = stub().await;
    stub.script([Fault::fail_entries(Entries::All, "KMSDisabled", true)]);

    let outcomes = publisher(&stub, PATIENT).publish(&numbered(1)).await;

    let failure = outcomes[0].as_ref().unwrap_err();
    assert!(failure.summary().contains(&stub.topic_arn("orders")), "{failure}");
}

#[tokio::test]
async fn a_wrong_batch_is_split_and_never_the_messages_fault() {
    let stub = stub().await;
    stub.otherwise(refuse(400, "InvalidBatchEntryId", "x"));

    let outcomes = publisher(&stub, PATIENT).publish(&numbered(2)).await;

    assert_eq!(words(&outcomes), ["destination"; 2]);
    assert_eq!(stub.requests().publish_batch, 3);
}

#[tokio::test]
async fn silence_is_ambiguous_and_ends_in_time() {
    let stub = stub().await;
    stub.otherwise(Fault::AcceptThenHang);

    let outcomes = publisher(&stub, HASTY).publish(&numbered(2)).await;

    assert_eq!(words(&outcomes), ["ambiguous"; 2]);
    assert_eq!(stub.journal().len(), 2);
}

#[tokio::test]
async fn a_refused_connection_is_transient() {
    let stub = stub().await;
    let publisher = publisher(&stub, PATIENT);
    stub.stop().await;

    let outcomes = publisher.publish(&numbered(1)).await;

    assert_eq!(words(&outcomes), ["transient"]);
}

#[tokio::test]
async fn a_host_that_does_not_exist_is_transient() {
    let config = config("http://sns.invalid");
    let stub = stub().await;
    let publisher = SnsPublisher::new(client(&config, PATIENT).unwrap(), topics(&stub));

    let outcomes = publisher.publish(&numbered(1)).await;

    assert_eq!(words(&outcomes), ["transient"]);
}

#[tokio::test]
async fn a_connection_that_was_reset_may_have_carried_the_message() {
    let outcomes = publisher_at(resetting()).publish(&numbered(1)).await;

    assert_eq!(words(&outcomes), ["ambiguous"], "{outcomes:?}");
}

#[tokio::test]
async fn a_client_without_http_pauses_the_topic() {
    let stub = stub().await;
    let config = aws_sdk_sns::config::Builder::from(&config(&stub.endpoint_url()))
        .behavior_version(aws_sdk_sns::config::BehaviorVersion::v2026_01_12())
        .build();
    let publisher = SnsPublisher::new(aws_sdk_sns::Client::from_conf(config), topics(&stub));

    let outcomes = publisher.publish(&numbered(1)).await;

    assert_eq!(words(&outcomes), ["destination"], "{outcomes:?}");
}

fn batch_response(results: &str) -> String {
    response(
        200,
        "content-type: text/xml\r\n",
        &format!(
            "<PublishBatchResponse xmlns=\"http://sns.amazonaws.com/doc/2010-03-31/\">\
             <PublishBatchResult>{results}</PublishBatchResult></PublishBatchResponse>"
        ),
    )
}

fn accepted(id: &str) -> String {
    format!("<member><Id>{id}</Id><MessageId>sns-{id}</MessageId></member>")
}

fn failed(id: &str) -> String {
    format!(
        "<member><Id>{id}</Id><Code>InvalidParameter</Code><Message>no</Message>\
         <SenderFault>true</SenderFault></member>"
    )
}

#[tokio::test]
async fn verdicts_are_found_by_id_whatever_the_order_and_the_strangers_among_them() {
    let (two, stranger, zero, one) = (accepted("2"), accepted("77"), accepted("0"), failed("1"));
    let results = format!(
        "<Successful>{two}{stranger}{zero}</Successful><Failed>{one}{}</Failed>",
        failed("abc")
    );
    let address = answering(move |_| Some(batch_response(&results)));

    let outcomes = publisher_at(address).publish(&numbered(4)).await;

    assert_eq!(words(&outcomes), ["ok", "message", "ok", "ambiguous"]);
    assert_eq!(outcomes[0].as_ref().unwrap().broker_id.as_deref(), Some("sns-0"));
    assert_eq!(outcomes[2].as_ref().unwrap().broker_id.as_deref(), Some("sns-2"));
}

#[tokio::test]
async fn a_message_on_both_sides_of_the_answer_may_be_out() {
    let results =
        format!("<Successful>{}</Successful><Failed>{}</Failed>", accepted("0"), failed("0"));
    let address = answering(move |_| Some(batch_response(&results)));

    let outcomes = publisher_at(address).publish(&numbered(1)).await;

    assert_eq!(words(&outcomes), ["ambiguous"]);
}

#[tokio::test]
async fn an_answer_without_results_says_nothing() {
    for body in [String::new(), "<Successful/><Failed/>".to_owned()] {
        let address = answering(move |_| Some(batch_response(&body)));

        let outcomes = publisher_at(address).publish(&numbered(2)).await;

        assert_eq!(words(&outcomes), ["ambiguous"; 2]);
    }
}

#[tokio::test]
async fn an_empty_answer_says_nothing() {
    let address = answering(|_| Some(response(200, "", "")));

    let outcomes = publisher_at(address).publish(&numbered(2)).await;

    assert_eq!(words(&outcomes), ["ambiguous"; 2]);
}

#[tokio::test]
async fn a_word_of_something_in_between_kills_no_message() {
    let page = "<html><body>plain HTTP request sent to HTTPS port</body></html>";
    for status in [301, 400, 404, 405, 407] {
        let address = answering(move |_| Some(response(status, "", page)));

        let outcomes = publisher_at(address).publish(&numbered(2)).await;

        assert_eq!(words(&outcomes), ["destination"; 2], "{status}");
    }
}

#[tokio::test]
async fn the_bad_message_is_found_by_what_it_holds() {
    let error = "<ErrorResponse><Error><Type>Sender</Type><Code>ParameterValueInvalid</Code>\
                 <Message>bad</Message></Error></ErrorResponse>";
    let address = answering(move |request| {
        if request.contains("poison") {
            return Some(response(400, "", error));
        }
        let ids = request.split(".Id=").skip(1).map(|rest| rest.split('&').next().unwrap());
        let results: String = ids.map(accepted).collect();
        Some(batch_response(&format!("<Successful>{results}</Successful>")))
    });
    for bad in 0..10 {
        let mut messages = numbered(10);
        messages[bad].payload = "\"poison\"".into();

        let outcomes = publisher_at(address).publish(&messages).await;

        let mut expected = ["ok"; 10];
        expected[bad] = "message";
        assert_eq!(words(&outcomes), expected);
        for (place, outcome) in outcomes.iter().enumerate().filter(|(place, _)| *place != bad) {
            let broker_id = outcome.as_ref().unwrap().broker_id.clone().unwrap();
            assert_eq!(broker_id, format!("sns-{place}"));
        }
    }
}

#[tokio::test]
async fn the_wait_that_an_answer_asks_for_is_passed_on_within_reason() {
    let error = "<ErrorResponse><Error><Code>Throttling</Code><Message>slow</Message></Error>\
                 </ErrorResponse>";
    let rows = [
        ("x-amz-retry-after: 1500\r\n", Some(Duration::from_millis(1500))),
        ("retry-after: 7\r\n", Some(Duration::from_secs(7))),
        ("retry-after: 99999999999\r\n", Some(Duration::from_mins(15))),
        ("retry-after: Wed, 21 Oct 2026 07:28:00 GMT\r\n", None),
        ("", None),
    ];
    for (head, wait) in rows {
        let address = answering(move |_| Some(response(400, head, error)));

        let outcomes = publisher_at(address).publish(&numbered(1)).await;

        let failure = outcomes[0].as_ref().unwrap_err();
        assert_eq!(failure.kind, FailureKind::Throttled);
        assert_eq!(failure.retry_after, wait, "{head}");
    }
}

#[tokio::test]
async fn the_signed_request_in_a_refusal_is_not_repeated() {
    let stub = stub().await;
    let text = "The request signature we calculated does not match.\n\nThe Canonical String was\n\
                x-amz-security-token:IQoJb3JpZ2luX2VjE";
    stub.script([refuse(403, "SignatureDoesNotMatch", text)]);

    let outcomes = publisher(&stub, PATIENT).publish(&[message("{}")]).await;

    let failure = outcomes[0].as_ref().unwrap_err();
    assert_eq!(failure.summary(), "The request signature we calculated does not match.");
}
