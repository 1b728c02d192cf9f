use aws_sdk_sns::error::{ProvideErrorMetadata, SdkError};
use outbox_testing::sns::{Accepted, Answer, Fault};

use super::{Peer, entry, soon};

#[tokio::test]
async fn a_drop_before_acceptance_journals_nothing() {
    let peer = Peer::start().await;
    peer.stub.script([Fault::DropBeforeAccept, Fault::DropBeforeAccept]);

    let single = soon(peer.publish("m").send()).await.unwrap_err();
    let batch = soon(peer.batch([entry("a", "m")]).send()).await.unwrap_err();

    assert!(matches!(single, SdkError::DispatchFailure(_)), "{single:?}");
    assert!(matches!(batch, SdkError::DispatchFailure(_)), "{batch:?}");
    assert!(peer.stub.journal().is_empty());
}

#[tokio::test]
async fn a_drop_after_acceptance_journals_what_was_accepted() {
    let peer = Peer::start().await;
    peer.stub.script([Fault::DropAfterAccept, Fault::DropAfterAccept]);

    let single = soon(peer.publish("m").send()).await.unwrap_err();
    let batch = [entry("a", "m"), entry("b", "m")];
    let batch = soon(peer.batch(batch).send()).await.unwrap_err();

    assert!(matches!(single, SdkError::DispatchFailure(_)), "{single:?}");
    assert!(matches!(batch, SdkError::DispatchFailure(_)), "{batch:?}");
    assert_eq!(answers(&peer.stub.journal()), [Answer::Withheld; 3]);
}

#[tokio::test]
async fn the_connection_is_usable_again_after_a_drop() {
    let peer = Peer::start().await;
    peer.stub.script([Fault::DropAfterAccept]);
    soon(peer.publish("lost").send()).await.unwrap_err();

    soon(peer.publish("kept").send()).await.unwrap();

    assert_eq!(answers(&peer.stub.journal()), [Answer::Withheld, Answer::Sent]);
}

#[tokio::test]
async fn a_drop_in_the_middle_of_the_answer_is_no_answer() {
    let peer = Peer::start().await;
    peer.stub.script([Fault::DropMidAnswer]);

    let error = soon(peer.publish("m").send()).await.unwrap_err();

    // The head had come: to the SDK this is a response it could not read.
    assert!(matches!(error, SdkError::ResponseError(_)), "{error:?}");
    assert_eq!(answers(&peer.stub.journal()), [Answer::Withheld]);
}

#[tokio::test]
async fn garbage_with_status_200_is_an_error_without_a_code() {
    let peer = Peer::start().await;
    peer.stub.script([Fault::Garbage200]);

    let error = soon(peer.publish("m").send()).await.unwrap_err();

    assert_eq!(error.raw_response().unwrap().status().as_u16(), 200);
    assert_eq!(error.code(), None);
    assert_eq!(answers(&peer.stub.journal()), [Answer::Withheld]);
}

#[tokio::test]
async fn a_request_that_breaks_the_rules_is_refused_whatever_the_script_says() {
    let peer = Peer::start().await;
    peer.stub.script([Fault::DropAfterAccept]);

    let error = soon(peer.publish("").send()).await.unwrap_err();

    assert_eq!(error.code(), Some("InvalidParameter"));
}

fn answers(journal: &[Accepted]) -> Vec<Answer> {
    journal.iter().map(|accepted| accepted.answer).collect()
}
