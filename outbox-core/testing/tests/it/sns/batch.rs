use outbox_testing::sns::{Answer, Entries, Fault};

use super::{Peer, entry, refusal, refused, text};

#[tokio::test]
async fn a_batch_is_accepted_in_the_order_of_its_entries() {
    let peer = Peer::start().await;
    let ids: Vec<String> = (0..10).map(|number| number.to_string()).collect();

    let entries = ids.iter().map(|id| entry(id, &format!("message {id}")));
    let answer = peer.batch(entries).send().await.unwrap();

    assert!(answer.failed().is_empty());
    let journal = peer.stub.journal();
    assert_eq!(journal.len(), 10);
    for (place, (accepted, answered)) in journal.iter().zip(answer.successful()).enumerate() {
        assert_eq!(accepted.number, place + 1);
        assert_eq!(accepted.request, 1);
        assert_eq!(accepted.message, format!("message {place}"));
        assert_eq!(accepted.answer, Answer::Sent);
        assert_eq!(answered.id(), Some(ids[place].as_str()));
        assert_eq!(answered.message_id(), Some(accepted.message_id.as_str()));
    }
}

#[tokio::test]
async fn chosen_entries_fail_and_the_others_are_accepted() {
    let peer = Peer::start().await;
    peer.stub.script([
        Fault::fail_entries(Entries::At(vec![1]), "InternalError", false),
        Fault::fail_entries(Entries::matching(|body| body == "bad"), "Odd<&Code>", true),
    ]);
    let entries = || [entry("a", "good"), entry("b", "good"), entry("c", "bad")];

    let by_place = peer.batch(entries()).send().await.unwrap();
    let by_body = peer.batch(entries()).send().await.unwrap();

    let failed = &by_place.failed()[0];
    assert_eq!((failed.id(), failed.code()), ("b", "InternalError"));
    assert!(!failed.sender_fault());
    let ids = |answer: &aws_sdk_sns::operation::publish_batch::PublishBatchOutput| {
        let successful = answer.successful().iter();
        successful.map(|entry| entry.id().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&by_place), ["a", "c"]);
    let failed = &by_body.failed()[0];
    assert_eq!((failed.id(), failed.code()), ("c", "Odd<&Code>"));
    assert!(failed.sender_fault());
    assert_eq!(ids(&by_body), ["a", "b"]);
    let journal = peer.stub.journal();
    let arrived: Vec<(usize, &str)> =
        journal.iter().map(|accepted| (accepted.request, accepted.message.as_str())).collect();
    assert_eq!(arrived, [(1, "good"), (1, "bad"), (2, "good"), (2, "good")]);
}

#[tokio::test]
async fn all_entries_can_fail() {
    let peer = Peer::start().await;
    peer.stub.script([Fault::fail_entries(Entries::All, "InternalError", false)]);

    let answer = peer.batch([entry("a", "m"), entry("b", "m")]).send().await.unwrap();

    assert!(answer.successful().is_empty());
    assert_eq!(answer.failed().len(), 2);
    assert!(peer.stub.journal().is_empty());
}

#[tokio::test]
async fn a_failed_entry_of_a_single_publish_is_an_error_document() {
    let peer = Peer::start().await;
    peer.stub.script([
        Fault::fail_entries(Entries::All, "Ours", false),
        Fault::fail_entries(Entries::All, "Yours", true),
    ]);

    let ours = peer.publish("m").send().await;
    let yours = peer.publish("m").send().await;

    assert_eq!(refusal(ours), refused(500, "Ours"));
    assert_eq!(refusal(yours), refused(400, "Yours"));
    assert!(peer.stub.journal().is_empty());
}

#[tokio::test]
async fn an_omitted_entry_is_accepted_and_in_neither_list() {
    let peer = Peer::start().await;
    peer.stub.script([Fault::OmitEntries(Entries::At(vec![0]))]);

    let answer = peer.batch([entry("a", "m"), entry("b", "m")]).send().await.unwrap();

    assert!(answer.failed().is_empty());
    assert_eq!(answer.successful().len(), 1);
    assert_eq!(answer.successful()[0].id(), Some("b"));
    let answers: Vec<Answer> = peer.stub.journal().iter().map(|entry| entry.answer).collect();
    assert_eq!(answers, [Answer::Withheld, Answer::Sent]);
}

#[tokio::test]
async fn entries_keep_their_own_attributes() {
    let peer = Peer::start().await;
    let with_kind = |id: &str, kind: &str| {
        aws_sdk_sns::types::PublishBatchRequestEntry::builder()
            .id(id)
            .message("m")
            .subject(kind)
            .message_attributes("kind", text(kind))
            .message_attributes("shared", text("x"))
            .build()
            .unwrap()
    };

    peer.batch([with_kind("a", "first"), with_kind("b", "second")]).send().await.unwrap();

    let journal = peer.stub.journal();
    for (accepted, kind) in journal.iter().zip(["first", "second"]) {
        assert_eq!(accepted.attribute("kind"), Some(kind));
        assert_eq!(accepted.attribute("shared"), Some("x"));
        assert_eq!(accepted.subject.as_deref(), Some(kind));
    }
}

#[tokio::test]
async fn a_largest_batch_of_multibyte_text_gets_through() {
    let peer = Peer::start().await;
    let create = peer.client.create_topic().name("big").attributes("MaximumMessageSize", "1048576");
    let topic = create.send().await.unwrap().topic_arn.unwrap();
    // Each byte becomes three on the wire.
    let message = "€".repeat(1_048_576 / 10 / 3);

    let entries = (0..10).map(|number| entry(&number.to_string(), &message)).collect();
    let call = peer.client.publish_batch().topic_arn(topic);
    let answer = call.set_publish_batch_request_entries(Some(entries)).send().await.unwrap();

    assert_eq!(answer.successful().len(), 10);
}
