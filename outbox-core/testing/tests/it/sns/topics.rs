use aws_sdk_sns::error::ProvideErrorMetadata;
use outbox_testing::sns::SnsStub;

use super::{Peer, refusal, refused};

#[tokio::test]
async fn creating_a_topic_twice_gives_the_same_arn() {
    let peer = Peer::start().await;
    let create = || peer.client.create_topic().name("Bills-2_x").send();

    let first = create().await.unwrap();
    let second = create().await.unwrap();

    assert_eq!(first.topic_arn(), Some("arn:aws:sns:us-east-1:000000000000:Bills-2_x"));
    assert_eq!(second.topic_arn(), first.topic_arn());
}

#[tokio::test]
async fn a_topic_cannot_be_created_again_with_other_attributes() {
    let peer = Peer::start().await;

    let answer =
        peer.client.create_topic().name("orders").attributes("DisplayName", "x").send().await;

    assert_eq!(refusal(answer), refused(400, "InvalidParameter"));
}

#[tokio::test]
async fn illegal_topic_names_are_refused() {
    let peer = Peer::start().await;

    for name in ["", "a b", "a.b", "ü", "a.fifo", &"n".repeat(257)] {
        let answer = peer.client.create_topic().name(name).send().await;

        assert_eq!(refusal(answer), refused(400, "InvalidParameter"), "{name:?}");
    }
}

#[tokio::test]
async fn fifo_topics_need_their_suffix() {
    let peer = Peer::start().await;
    let create =
        |name: &str| peer.client.create_topic().name(name).attributes("FifoTopic", "true").send();

    create("a.fifo").await.unwrap();

    assert_eq!(refusal(create("a").await), refused(400, "InvalidParameter"));
    assert_eq!(refusal(create(".fifo").await), refused(400, "InvalidParameter"));
}

#[tokio::test]
async fn a_missing_topic_is_not_found() {
    let peer = Peer::start().await;
    let arn = peer.stub.topic_arn("missing");

    let answer = peer.client.publish().topic_arn(&arn).message("m").send().await;
    assert_eq!(refusal(answer), refused(404, "NotFound"));

    let answer = peer.client.get_topic_attributes().topic_arn(&arn).send().await;
    assert_eq!(refusal(answer), refused(404, "NotFound"));
}

#[tokio::test]
async fn an_arn_that_cannot_be_of_this_region_is_an_invalid_parameter() {
    let peer = Peer::start().await;
    let foreign = peer.topic.replace("us-east-1", "eu-west-1");

    for arn in ["not-an-arn", "", "arn:aws:sqs:us-east-1:000000000000:orders", &foreign] {
        let answer = peer.client.publish().topic_arn(arn).message("m").send().await;

        // Only the text tells a bad topic from a bad message.
        let error = answer.unwrap_err();
        assert_eq!(error.code(), Some("InvalidParameter"), "{arn}");
        assert!(error.message().unwrap().contains("TopicArn"), "{arn}");
    }
}

#[tokio::test]
async fn a_deleted_topic_is_not_found_until_it_is_created_anew() {
    let stub = SnsStub::builder().topic("orders").auto_create_topics(true).start().await.unwrap();
    let peer = Peer::of(stub);
    peer.publish("before").send().await.unwrap();

    peer.stub.delete_topic(&peer.topic);
    let answer = peer.publish("between").send().await;
    peer.client.create_topic().name("orders").send().await.unwrap();
    peer.publish("after").send().await.unwrap();

    assert_eq!(refusal(answer), refused(404, "NotFound"));
    let journal = peer.stub.journal();
    let messages: Vec<&str> = journal.iter().map(|accepted| accepted.message.as_str()).collect();
    assert_eq!(messages, ["before", "after"]);
}

#[tokio::test]
async fn topics_come_by_themselves_only_where_that_was_asked_for() {
    let peer = Peer::of(SnsStub::builder().auto_create_topics(true).start().await.unwrap());
    let fifo = peer.stub.topic_arn("orders.fifo");

    peer.publish("m").send().await.unwrap();
    let no_group = peer.client.publish().topic_arn(fifo).message("m").send().await;
    let bad_name = peer.stub.topic_arn("no name");
    let bad_name = peer.client.publish().topic_arn(bad_name).message("m").send().await;
    let foreign = peer.topic.replace("000000000000", "111111111111");
    let foreign = peer.client.publish().topic_arn(foreign).message("m").send().await;

    assert_eq!(refusal(no_group), refused(400, "InvalidParameter"));
    assert_eq!(refusal(bad_name), refused(400, "InvalidParameter"));
    assert_eq!(refusal(foreign), refused(404, "NotFound"));
}

#[tokio::test]
async fn a_topic_tells_its_attributes() {
    let peer = Peer::start().await;
    let create = peer.client.create_topic().name("bills").attributes("DisplayName", "<B&B>");
    let arn = create.send().await.unwrap().topic_arn.unwrap();

    let answer = peer.client.get_topic_attributes().topic_arn(&arn).send().await.unwrap();

    let attributes = answer.attributes().unwrap();
    assert_eq!(attributes["TopicArn"], arn);
    assert_eq!(attributes["DisplayName"], "<B&B>");
}

#[tokio::test]
async fn a_stub_does_not_start_with_a_topic_that_sns_would_refuse() {
    let started = SnsStub::builder().topic("no name").start().await;

    assert_eq!(started.unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
}
