//! Groups and deduplication on FIFO topics.

use outbox_core::OutboxMessage;
use outbox_worker::publisher::sns::{SnsEntry, SnsTopic};

use crate::publisher_fixture::{ID, message};

const FIFO: &str = "arn:aws:sns:us-east-1:000000000000:orders.fifo";
const STANDARD: &str = "arn:aws:sns:us-east-1:000000000000:orders";

fn to(arn: &str, message: &OutboxMessage) -> SnsEntry {
    SnsEntry::new(message, &SnsTopic::new(arn).unwrap()).unwrap()
}

fn group(ordering_key: Option<&str>, partition_key: Option<&str>) -> String {
    let mut message = message("{}");
    message.ordering_key = ordering_key.map(str::to_owned);
    message.partition_key = partition_key.map(str::to_owned);
    to(FIFO, &message).group_id().unwrap().to_owned()
}

#[test]
fn the_group_is_the_ordering_key_then_the_partition_key_then_the_id() {
    assert_eq!(group(Some("a"), Some("b")), "a");
    assert_eq!(group(None, Some("b")), "b");
    assert_eq!(group(None, None), ID);
    assert_eq!(group(Some(""), Some("")), ID);
}

#[test]
fn a_key_that_sns_allows_stays_as_it_is() {
    let longest = "k".repeat(128);
    let marks = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
    for key in ["7", "tenant:7", marks, &longest] {
        assert_eq!(group(Some(key), None), key);
    }
}

#[test]
fn another_key_becomes_a_hash_that_never_changes() {
    // Another hash would put messages of one key into two groups, which have no order.
    assert_eq!(group(Some("a b"), None), "e932d71afddc92588044f8a624582c4c");
    let too_long = "k".repeat(129);
    for key in ["a b", "é", "a\nb", "\u{0}", &too_long] {
        let hash = group(Some(key), None);

        assert_eq!(hash.len(), 32, "{key}");
        assert!(hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hash}");
    }
    assert_ne!(group(Some("a b"), None), group(Some("a c"), None));
}

#[test]
fn a_retry_is_deduplicated_and_a_replay_is_not() {
    let mut message = message("{}");
    assert_eq!(to(FIFO, &message).deduplication_id(), Some(ID));

    message.replays = 1;
    assert_eq!(to(FIFO, &message).deduplication_id(), Some(&*format!("{ID}-r1")));
    message.replays = u32::MAX;
    assert_eq!(to(FIFO, &message).deduplication_id(), Some(&*format!("{ID}-r{}", u32::MAX)));
}

#[test]
fn a_standard_topic_gets_neither() {
    let mut message = message("{}");
    message.ordering_key = Some("7".to_owned());
    message.replays = 3;

    let entry = to(STANDARD, &message);

    assert_eq!(entry.group_id(), None);
    assert_eq!(entry.deduplication_id(), None);
}
