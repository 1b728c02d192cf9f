use std::time::Duration;

use aws_sdk_sns::operation::publish::builders::PublishFluentBuilder;
use aws_sdk_sns::types::PublishBatchRequestEntry;
use outbox_testing::sns::SnsStub;

use super::{Peer, entry, refusal, refused};

async fn fifo_peer(attributes: &[(&str, &str)]) -> Peer {
    let mut peer = Peer::of(SnsStub::start().await.unwrap());
    let mut create = peer.client.create_topic().name("f.fifo").attributes("FifoTopic", "true");
    for (name, value) in attributes {
        create = create.attributes(*name, *value);
    }
    peer.topic = create.send().await.unwrap().topic_arn.unwrap();
    peer
}

fn identified(peer: &Peer, group: &str, id: &str) -> PublishFluentBuilder {
    peer.publish("m").message_group_id(group).message_deduplication_id(id)
}

#[tokio::test]
async fn a_repeated_deduplication_id_is_accepted_and_marked() {
    let peer = fifo_peer(&[]).await;

    let first = identified(&peer, "g", "1").send().await.unwrap();
    let second = identified(&peer, "g", "1").send().await.unwrap();
    let other = identified(&peer, "g", "2").send().await.unwrap();

    assert_eq!(second.message_id(), first.message_id());
    assert_eq!(second.sequence_number(), first.sequence_number());
    assert_ne!(other.message_id(), first.message_id());
    assert!(other.sequence_number() > first.sequence_number());
    let marks: Vec<bool> = peer.stub.journal().iter().map(|entry| entry.deduplicated).collect();
    assert_eq!(marks, [false, true, false]);
    assert_eq!(peer.stub.journal()[0].deduplication_id.as_deref(), Some("1"));
}

#[tokio::test]
async fn a_topic_forgets_after_five_minutes() {
    let peer = fifo_peer(&[]).await;
    identified(&peer, "g", "1").send().await.unwrap();

    peer.stub.advance(Duration::from_secs(4 * 60 + 50));
    identified(&peer, "g", "1").send().await.unwrap();
    peer.stub.advance(Duration::from_secs(10));
    identified(&peer, "g", "1").send().await.unwrap();

    let marks: Vec<bool> = peer.stub.journal().iter().map(|entry| entry.deduplicated).collect();
    assert_eq!(marks, [false, true, false]);
}

#[tokio::test]
async fn a_topic_deduplicates_across_groups_unless_its_scope_is_the_group() {
    let whole = fifo_peer(&[]).await;
    let grouped = fifo_peer(&[("FifoThroughputScope", "MessageGroup")]).await;

    for peer in [&whole, &grouped] {
        identified(peer, "g", "1").send().await.unwrap();
        identified(peer, "h", "1").send().await.unwrap();
    }

    assert!(whole.stub.journal()[1].deduplicated);
    assert!(!grouped.stub.journal()[1].deduplicated);
}

#[tokio::test]
async fn a_topic_can_deduplicate_by_content() {
    let peer = fifo_peer(&[("ContentBasedDeduplication", "true")]).await;

    for message in ["a", "a", "b"] {
        peer.publish(message).message_group_id("g").send().await.unwrap();
    }

    let marks: Vec<bool> = peer.stub.journal().iter().map(|entry| entry.deduplicated).collect();
    assert_eq!(marks, [false, true, false]);
}

#[tokio::test]
async fn group_and_deduplication_id_are_required() {
    let peer = fifo_peer(&[]).await;

    let no_group = peer.publish("m").message_deduplication_id("1").send().await;
    let no_id = peer.publish("m").message_group_id("g").send().await;

    assert_eq!(refusal(no_group), refused(400, "InvalidParameter"));
    assert_eq!(refusal(no_id), refused(400, "InvalidParameter"));
    assert!(peer.stub.journal().is_empty());
}

#[tokio::test]
async fn one_entry_without_a_group_refuses_the_whole_batch() {
    let peer = fifo_peer(&[]).await;
    let good = PublishBatchRequestEntry::builder()
        .id("good")
        .message("m")
        .message_group_id("g")
        .message_deduplication_id("1")
        .build()
        .unwrap();

    let answer = peer.batch([good, entry("bad", "m")]).send().await;

    assert_eq!(refusal(answer), refused(400, "InvalidParameter"));
    assert!(peer.stub.journal().is_empty());
}

#[tokio::test]
async fn a_batch_deduplicates_within_itself() {
    let peer = fifo_peer(&[]).await;
    let twin = |id: &str| {
        PublishBatchRequestEntry::builder()
            .id(id)
            .message("m")
            .message_group_id("g")
            .message_deduplication_id("same")
            .build()
            .unwrap()
    };

    let answer = peer.batch([twin("a"), twin("b")]).send().await.unwrap();

    let [a, b] = answer.successful() else { panic!("both entries must succeed") };
    assert_eq!(a.message_id(), b.message_id());
    assert!(a.sequence_number().is_some());
    assert!(peer.stub.journal()[1].deduplicated);
}
