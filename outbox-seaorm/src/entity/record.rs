//! Columns of a record.
//!
//! Each is written once, in a group; every list of them that a statement needs is made of groups.

/// What names a record and must be readable for an outcome to refer to it.
pub(crate) const NAME: &[&str] = &["lane", "position", "id", "revision"];

/// The message as it was staged, which nothing changes.
pub(crate) const CONTENT: &[&str] = &[
    "format",
    "transport",
    "event_type",
    "event_version",
    "topic",
    "source",
    "subject",
    "partition_key",
    "ordering_key",
    "content_type",
    "payload",
    "headers",
    "tenant",
    "correlation_id",
    "causation_id",
    "traceparent",
    "tracestate",
    "occurred_at",
];

/// What else goes out with the message.
pub(crate) const DELIVERY: &[&str] = &["deliver_at", "replays"];

/// What tells of failures: constant while a record has no instant from which it is due.
pub(crate) const FAILURES: &[&str] = &["available_at", "attempts", "first_failed_at", "last_error"];

/// What no record is made from.
const APART: &[&str] = &["size", "created_at"];

/// Every column.
pub(crate) const ALL: [&str; 30] = joined(&[NAME, CONTENT, DELIVERY, FAILURES, APART]);

/// Lists one after the other as one. Another length than theirs does not compile.
pub(crate) const fn joined<const N: usize>(lists: &[&[&'static str]]) -> [&'static str; N] {
    let mut joined = [""; N];
    let (mut list, mut length) = (0, 0);
    while list < lists.len() {
        let mut column = 0;
        while column < lists[list].len() {
            joined[length] = lists[list][column];
            (column, length) = (column + 1, length + 1);
        }
        list += 1;
    }
    assert!(length == N, "the lists have fewer columns");
    joined
}
