use std::time::{Duration, Instant};

use outbox_testing::sns::{Answer, Fault, SnsStub};

use super::{Peer, entry, soon};

const DELAY: Duration = Duration::from_millis(60);

#[tokio::test]
async fn a_delayed_answer_comes_after_its_delay() {
    let peer = Peer::start().await;
    peer.stub.script([Fault::Delay(DELAY)]);
    let started = Instant::now();

    peer.publish("m").send().await.unwrap();

    assert!(started.elapsed() >= DELAY);
}

#[tokio::test]
async fn a_delayed_message_is_accepted_at_once() {
    let peer = Peer::start().await;
    peer.stub.script([Fault::Delay(Duration::from_secs(3600))]);
    tokio::spawn(peer.publish("m").send());

    let journal = soon(peer.stub.accepted_at_least(1)).await;

    assert_eq!(journal[0].answer, Answer::Pending);
}

#[tokio::test]
async fn latency_delays_every_answer() {
    let peer = Peer::of(SnsStub::builder().topic("orders").latency(DELAY).start().await.unwrap());
    let started = Instant::now();

    peer.publish("m").send().await.unwrap();
    peer.publish("").send().await.unwrap_err();
    peer.client.create_topic().name("other").send().await.unwrap();

    assert!(started.elapsed() >= DELAY * 3);
}

#[tokio::test]
async fn latency_can_change_while_the_stub_runs() {
    let peer = Peer::start().await;
    peer.stub.set_latency(DELAY);
    let started = Instant::now();

    peer.batch([entry("a", "m")]).send().await.unwrap();

    assert!(started.elapsed() >= DELAY);
}

#[tokio::test]
async fn a_hanging_request_is_served_when_released() {
    let peer = Peer::start().await;
    peer.stub.script([Fault::Hang]);
    let call = tokio::spawn(peer.publish("m").send());

    soon(peer.stub.hung_at_least(1)).await;
    let meanwhile = peer.stub.journal();
    peer.stub.release_hung();
    let answer = soon(call).await.unwrap().unwrap();

    assert!(meanwhile.is_empty());
    assert!(answer.message_id().is_some());
    assert_eq!(peer.stub.journal().len(), 1);
}

#[tokio::test]
async fn accept_then_hang_accepts_first() {
    let peer = Peer::start().await;
    peer.stub.script([Fault::AcceptThenHang]);
    let call = tokio::spawn(peer.publish("m").send());

    soon(peer.stub.hung_at_least(1)).await;
    let meanwhile = peer.stub.journal();
    peer.stub.release_hung();
    soon(call).await.unwrap().unwrap();

    assert_eq!(meanwhile[0].answer, Answer::Pending);
    assert_eq!(peer.stub.journal()[0].answer, Answer::Sent);
}

#[tokio::test]
async fn a_release_is_for_those_that_hang_at_the_time() {
    let peer = Peer::start().await;
    peer.stub.release_hung();
    peer.stub.script([Fault::Hang, Fault::Hang]);

    let first = tokio::spawn(peer.publish("1").send());
    soon(peer.stub.hung_at_least(1)).await;
    peer.stub.release_hung();
    soon(first).await.unwrap().unwrap();
    let second = tokio::spawn(peer.publish("2").send());
    soon(peer.stub.hung_at_least(1)).await;

    assert_eq!(peer.stub.journal().len(), 1);
    peer.stub.release_hung();
    soon(second).await.unwrap().unwrap();
}
