use super::{Peer, attribute, refusal, refused, text};

#[tokio::test]
async fn an_empty_message_is_refused() {
    let peer = Peer::start().await;

    let answer = peer.publish("").send().await;

    assert_eq!(refusal(answer), refused(400, "InvalidParameter"));
    assert!(peer.stub.journal().is_empty());
}

#[tokio::test]
async fn the_size_limit_counts_bytes_and_attributes() {
    let peer = Peer::start().await;
    // One character of three bytes, and name, type and value of the attribute: 1 + 6 + 2.
    let message = |bytes: usize| format!("€{}", "x".repeat(bytes - 3 - 9));
    let publish = |bytes| peer.publish(message(bytes)).message_attributes("k", text("vv")).send();

    publish(262_144).await.unwrap();
    let answer = publish(262_145).await;

    assert_eq!(refusal(answer), refused(400, "InvalidParameter"));
    assert_eq!(peer.stub.journal().len(), 1);
}

#[tokio::test]
async fn a_topic_can_set_its_own_size_limit() {
    let peer = Peer::start().await;
    let create = |name: &str, size: &str| {
        peer.client.create_topic().name(name).attributes("MaximumMessageSize", size).send()
    };
    let topic = create("small", "1024").await.unwrap().topic_arn.unwrap();
    let publish = |bytes| peer.client.publish().topic_arn(&topic).message("x".repeat(bytes)).send();

    publish(1024).await.unwrap();

    assert_eq!(refusal(publish(1025).await), refused(400, "InvalidParameter"));
    assert_eq!(refusal(create("tiny", "1023").await), refused(400, "InvalidParameter"));
    assert_eq!(refusal(create("huge", "1048577").await), refused(400, "InvalidParameter"));
}

#[tokio::test]
async fn illegal_attribute_names_are_refused() {
    let peer = Peer::start().await;
    let long = "k".repeat(257);
    let names = ["", ".a", "a.", "a..b", "a b", "é", "a:b", "AWS.x", "amazon.x", &long];

    for name in names {
        let answer = peer.publish("m").message_attributes(name, text("v")).send().await;

        assert_eq!(refusal(answer), refused(400, "ParameterValueInvalid"), "{name:?}");
    }
    assert!(peer.stub.journal().is_empty());
}

#[tokio::test]
async fn illegal_attribute_types_and_values_are_refused() {
    let peer = Peer::start().await;
    let values =
        [("Foo", "x"), ("String.", "x"), ("String", ""), ("Number", "abc"), ("Binary", "x")];

    for (data_type, value) in values {
        let bad = attribute(data_type, value);
        let answer = peer.publish("m").message_attributes("k", bad).send().await;

        assert_eq!(refusal(answer), refused(400, "ParameterValueInvalid"), "{data_type} {value}");
    }
}

#[tokio::test]
async fn illegal_subjects_are_refused() {
    let peer = Peer::start().await;
    peer.publish("m").subject("s".repeat(99)).send().await.unwrap();

    for subject in ["", "two\nlines", &"s".repeat(100)] {
        let answer = peer.publish("m").subject(subject).send().await;

        assert_eq!(refusal(answer), refused(400, "InvalidParameter"), "{subject:?}");
    }
}

#[tokio::test]
async fn a_deduplication_id_is_refused_by_a_standard_topic() {
    let peer = Peer::start().await;

    let answer = peer.publish("m").message_deduplication_id("d").send().await;

    assert_eq!(refusal(answer), refused(400, "InvalidParameter"));
}

#[tokio::test]
async fn illegal_group_ids_are_refused() {
    let peer = Peer::start().await;
    peer.publish("m").message_group_id("g".repeat(128)).send().await.unwrap();

    for group in ["", "a b", "é", &"g".repeat(129)] {
        let answer = peer.publish("m").message_group_id(group).send().await;

        assert_eq!(refusal(answer), refused(400, "InvalidParameter"), "{group:?}");
    }
}

#[tokio::test]
async fn a_message_structure_is_refused_rather_than_ignored() {
    let peer = Peer::start().await;

    let answer = peer.publish("{}").message_structure("json").send().await;

    assert_eq!(refusal(answer), refused(400, "InvalidParameter"));
}
