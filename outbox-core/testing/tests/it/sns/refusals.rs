use aws_sdk_sns::error::ProvideErrorMetadata;
use aws_sdk_sns::operation::RequestId;
use outbox_testing::sns::Fault;

use super::{Peer, entry, refusal, refused};

#[tokio::test]
async fn each_scripted_error_document_bears_its_wire_code() {
    let peer = Peer::start().await;
    let script = [
        (Fault::Denied, 403, "AuthorizationError"),
        (Fault::ExpiredToken, 403, "ExpiredToken"),
        (Fault::Html503, 503, ""),
        (Fault::InternalError, 500, "InternalError"),
        (Fault::InvalidParameter, 400, "InvalidParameter"),
        (Fault::ServiceUnavailable, 503, "ServiceUnavailable"),
        (Fault::Throttle, 400, "Throttling"),
    ];

    for (fault, status, code) in script {
        peer.stub.script([fault.clone(), fault]);

        assert_eq!(refusal(peer.publish("m").send().await), refused(status, code));
        assert_eq!(refusal(peer.batch([entry("a", "m")]).send().await), refused(status, code));
    }
    assert!(peer.stub.journal().is_empty());
    assert_eq!(peer.stub.faults_left(), 0);
}

#[tokio::test]
async fn any_other_error_document_can_be_scripted_hostile_text_included() {
    let peer = Peer::start().await;
    let message = "</Message>&<![CDATA[ \"'\t\r\n ü 😀";
    peer.stub.script([Fault::Refuse {
        status: 429,
        code: "Throttled<&>".to_owned(),
        message: message.to_owned(),
    }]);

    let error = peer.publish("m").send().await.unwrap_err();

    assert_eq!(error.raw_response().unwrap().status().as_u16(), 429);
    assert_eq!(error.code(), Some("Throttled<&>"));
    assert_eq!(error.message(), Some(message));
    assert!(error.request_id().is_some());
}

#[tokio::test]
async fn a_character_that_xml_cannot_hold_is_replaced() {
    let peer = Peer::start().await;
    peer.stub.script([Fault::Refuse {
        status: 1,
        code: "Odd".to_owned(),
        message: "a\0b\u{1f}c\u{ffff}d".to_owned(),
    }]);

    let error = peer.publish("m").send().await.unwrap_err();

    assert_eq!(error.message(), Some("a\u{fffd}b\u{fffd}c\u{fffd}d"));
    // No HTTP status has the number 1.
    assert_eq!(error.raw_response().unwrap().status().as_u16(), 500);
}

#[tokio::test]
async fn a_script_is_consumed_in_order_and_may_let_requests_pass() {
    let peer = Peer::start().await;
    peer.stub.script([Fault::Throttle, Fault::Pass, Fault::InternalError]);

    assert_eq!(refusal(peer.publish("1").send().await), refused(400, "Throttling"));
    peer.publish("2").send().await.unwrap();
    assert_eq!(refusal(peer.publish("3").send().await), refused(500, "InternalError"));
    peer.publish("4").send().await.unwrap();

    let journal = peer.stub.journal();
    let arrived: Vec<&str> = journal.iter().map(|accepted| accepted.message.as_str()).collect();
    assert_eq!(arrived, ["2", "4"]);
}

#[tokio::test]
async fn a_topics_own_script_comes_first_and_spares_the_others() {
    let peer = Peer::start().await;
    peer.client.create_topic().name("other").send().await.unwrap();
    let other = peer.stub.topic_arn("other");
    peer.stub.script_for(&peer.topic, [Fault::Denied]);
    peer.stub.script([Fault::Throttle]);
    assert_eq!(peer.stub.faults_left(), 2);

    let to_other = peer.client.publish().topic_arn(other).message("m").send().await;

    assert_eq!(refusal(to_other), refused(400, "Throttling"));
    assert_eq!(refusal(peer.publish("m").send().await), refused(403, "AuthorizationError"));
    peer.publish("m").send().await.unwrap();
}

#[tokio::test]
async fn a_standing_fault_lasts_until_cleared() {
    let peer = Peer::start().await;
    peer.stub.otherwise(Fault::ServiceUnavailable);
    peer.stub.script([Fault::Pass]);

    peer.publish("scripted").send().await.unwrap();
    for _ in 0..3 {
        let answer = peer.publish("m").send().await;
        assert_eq!(refusal(answer), refused(503, "ServiceUnavailable"));
    }
    peer.stub.clear_faults();

    peer.publish("cleared").send().await.unwrap();
}

#[tokio::test]
async fn clearing_forgets_every_script() {
    let peer = Peer::start().await;
    peer.stub.script([Fault::Throttle]);
    peer.stub.script_for(&peer.topic, [Fault::Throttle]);

    peer.stub.clear_faults();

    assert_eq!(peer.stub.faults_left(), 0);
    peer.publish("m").send().await.unwrap();
}

#[tokio::test]
async fn faults_are_for_publishing_only() {
    let peer = Peer::start().await;
    peer.stub.script([Fault::DropBeforeAccept]);

    peer.client.create_topic().name("other").send().await.unwrap();

    assert_eq!(peer.stub.faults_left(), 1);
}
