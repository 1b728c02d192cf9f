use outbox_testing::sns::{Answer, Entries, Fault};

use super::{Peer, entry, soon};

#[tokio::test]
async fn a_held_request_is_accepted_and_answered_only_after_the_release() {
    let peer = Peer::start().await;
    let hold = peer.stub.hold();
    let call = tokio::spawn(peer.publish("m").send());

    soon(hold.held_at_least(1)).await;
    let meanwhile = peer.stub.journal();
    let answered_meanwhile = call.is_finished();
    hold.release();
    let answer = soon(call).await.unwrap().unwrap();

    assert_eq!(meanwhile[0].answer, Answer::Pending);
    assert!(!answered_meanwhile);
    assert_eq!(answer.message_id(), Some(meanwhile[0].message_id.as_str()));
    assert_eq!(peer.stub.journal()[0].answer, Answer::Sent);
}

#[tokio::test]
async fn a_publisher_that_dies_while_held_leaves_an_abandoned_answer() {
    let peer = Peer::start().await;
    let hold = peer.stub.hold();
    let call = tokio::spawn(peer.publish("m").send());
    soon(hold.held_at_least(1)).await;

    call.abort();

    let journal =
        soon(peer.stub.accepted_until(|journal| journal[0].answer == Answer::Abandoned)).await;
    assert_eq!(journal.len(), 1);
    assert_eq!(hold.held(), 0);
}

#[tokio::test]
async fn a_hold_counts_requests_that_wait_at_one_time() {
    let peer = Peer::start().await;
    let hold = peer.stub.hold();

    let single = tokio::spawn(peer.publish("m").send());
    let batch = tokio::spawn(peer.batch([entry("a", "m"), entry("b", "m")]).send());
    soon(hold.held_at_least(2)).await;

    assert_eq!(hold.held(), 2);
    assert_eq!(peer.stub.journal().len(), 3);
    drop(hold);
    soon(single).await.unwrap().unwrap();
    soon(batch).await.unwrap().unwrap();
}

#[tokio::test]
async fn answers_wait_for_the_last_of_several_holds() {
    let peer = Peer::start().await;
    let (first, second) = (peer.stub.hold(), peer.stub.hold());
    let call = tokio::spawn(peer.publish("m").send());
    soon(second.held_at_least(1)).await;

    first.release();
    let still_held = second.held();
    second.release();

    assert_eq!(still_held, 1);
    soon(call).await.unwrap().unwrap();
    soon(peer.publish("unheld").send()).await.unwrap();
}

#[tokio::test]
async fn what_is_not_accepted_is_not_held() {
    let peer = Peer::start().await;
    let _hold = peer.stub.hold();
    let all_fail = Fault::fail_entries(Entries::All, "InternalError", false);
    peer.stub.script([Fault::Throttle, all_fail]);

    soon(peer.publish("m").send()).await.unwrap_err();
    soon(peer.batch([entry("a", "m")]).send()).await.unwrap();
    soon(peer.publish("").send()).await.unwrap_err();
    soon(peer.client.create_topic().name("other").send()).await.unwrap();
}

#[tokio::test]
async fn a_held_request_can_still_lose_its_answer() {
    let peer = Peer::start().await;
    let hold = peer.stub.hold();
    peer.stub.script([Fault::DropAfterAccept]);
    let call = tokio::spawn(peer.publish("m").send());
    soon(hold.held_at_least(1)).await;

    hold.release();

    soon(call).await.unwrap().unwrap_err();
    assert_eq!(peer.stub.journal()[0].answer, Answer::Withheld);
}
