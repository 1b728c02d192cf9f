use aws_sdk_sns::types::PublishBatchRequestEntry;

use super::{Peer, entry, refusal, refused, text};

#[tokio::test]
async fn an_empty_batch_is_refused() {
    let peer = Peer::start().await;

    let answer = peer.batch([]).send().await;

    assert_eq!(refusal(answer), refused(400, "EmptyBatchRequest"));
}

#[tokio::test]
async fn eleven_entries_are_too_many() {
    let peer = Peer::start().await;

    let answer = peer.batch((0..11).map(|id| entry(&id.to_string(), "m"))).send().await;

    assert_eq!(refusal(answer), refused(400, "TooManyEntriesInBatchRequest"));
}

#[tokio::test]
async fn entry_ids_must_be_distinct() {
    let peer = Peer::start().await;

    let answer = peer.batch([entry("a", "m"), entry("a", "n")]).send().await;

    assert_eq!(refusal(answer), refused(400, "BatchEntryIdsNotDistinct"));
}

#[tokio::test]
async fn entry_ids_must_be_short_and_plain() {
    let peer = Peer::start().await;
    peer.batch([entry(&"a".repeat(80), "m")]).send().await.unwrap();

    for id in ["", "a b", "a.b", "ü", &"a".repeat(81)] {
        let answer = peer.batch([entry(id, "m")]).send().await;

        assert_eq!(refusal(answer), refused(400, "InvalidBatchEntryId"), "{id:?}");
    }
}

#[tokio::test]
async fn the_size_limit_holds_for_the_batch_as_a_whole() {
    let peer = Peer::start().await;
    let batch = |bytes| [entry("a", &"x".repeat(131_072)), entry("b", &"x".repeat(bytes))];
    peer.batch(batch(131_072)).send().await.unwrap();

    let answer = peer.batch(batch(131_073)).send().await;

    assert_eq!(refusal(answer), refused(400, "BatchRequestTooLong"));
    assert_eq!(peer.stub.journal().len(), 2);
}

#[tokio::test]
async fn one_bad_attribute_refuses_the_whole_batch() {
    let peer = Peer::start().await;
    let bad = PublishBatchRequestEntry::builder()
        .id("bad")
        .message("m")
        .message_attributes("a..b", text("v"))
        .build()
        .unwrap();

    let answer = peer.batch([entry("good", "m"), bad]).send().await;

    assert_eq!(refusal(answer), refused(400, "ParameterValueInvalid"));
    assert!(peer.stub.journal().is_empty());
}

#[tokio::test]
async fn a_batch_for_a_missing_topic_is_not_found() {
    let mut peer = Peer::start().await;
    peer.topic = peer.stub.topic_arn("missing");

    let answer = peer.batch([entry("a", "m")]).send().await;

    assert_eq!(refusal(answer), refused(404, "NotFound"));
}
