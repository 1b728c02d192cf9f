use aws_sdk_sns::error::SdkError;
use outbox_testing::sns::{Fault, SnsStub};

use super::{Peer, client, soon};

#[tokio::test]
async fn a_stopped_stub_refuses_connections_and_its_address_is_free() {
    let peer = Peer::start().await;
    let address = peer.stub.address();
    peer.publish("m").send().await.unwrap();

    soon(peer.stub.stop()).await;
    let call = peer.client.publish().topic_arn(&peer.topic).message("m");
    let error = soon(call.clone().send()).await.unwrap_err();
    let second = SnsStub::builder().address(address).topic("orders").start().await.unwrap();
    soon(call.send()).await.unwrap();

    let SdkError::DispatchFailure(failure) = error else { panic!("{error:?}") };
    assert!(failure.is_io());
    assert_eq!(second.journal().len(), 1);
}

#[tokio::test]
async fn a_dropped_stub_cuts_off_requests_that_hang() {
    let peer = Peer::start().await;
    peer.stub.script([Fault::Hang, Fault::AcceptThenHang]);
    let hung = tokio::spawn(peer.publish("1").send());
    soon(peer.stub.hung_at_least(1)).await;
    let accepted = tokio::spawn(peer.publish("2").send());
    soon(peer.stub.hung_at_least(2)).await;

    drop(peer.stub);

    soon(hung).await.unwrap().unwrap_err();
    soon(accepted).await.unwrap().unwrap_err();
}

#[tokio::test]
async fn two_stubs_know_nothing_of_each_other() {
    let first = Peer::start().await;
    let second = SnsStub::start().await.unwrap();

    first.publish("m").send().await.unwrap();
    let missing =
        client(&second, "test").publish().topic_arn(&first.topic).message("m").send().await;

    assert!(missing.is_err());
    assert!(second.journal().is_empty());
}

#[tokio::test]
async fn a_stub_does_not_start_on_an_address_in_use() {
    let first = SnsStub::start().await.unwrap();

    let second = SnsStub::start_on(first.address()).await;

    assert_eq!(second.unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
}
