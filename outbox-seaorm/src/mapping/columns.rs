//! Columns of the tables that hold messages.

use crate::entity::MESSAGE;

/// What is selected of a record, in the order in which it is decoded.
///
/// The first four name the record and must be readable for an outcome to refer to it. The last
/// four tell of failures: they are constant while a record has no instant from which it is due.
pub(crate) const RECORD: [&str; 28] = [
    "lane",
    "position",
    "id",
    "revision",
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
    "deliver_at",
    "replays",
    "available_at",
    "attempts",
    "first_failed_at",
    "last_error",
];

/// How many of [`RECORD`] are not about failures.
#[cfg(feature = "postgres")]
pub(crate) const STAGED: usize = 24;

/// Every column of a message's row, all of which move with it, as a list.
pub(crate) fn moved() -> String {
    MESSAGE.columns().collect::<Vec<_>>().join(", ")
}

/// Every column that moves, of this table, with some replaced by an expression.
pub(crate) fn moved_from(table: &str, replaced: &[(&str, String)]) -> String {
    let expression = |column: &str| {
        let replacement = replaced.iter().find(|(name, _)| *name == column);
        replacement
            .map_or_else(|| format!("{table}.{column}"), |(_, expression)| expression.clone())
    };
    MESSAGE.columns().map(expression).collect::<Vec<_>>().join(", ")
}

/// These columns of this table, as a list.
pub(crate) fn list(table: &str, columns: &[&str]) -> String {
    let all: Vec<String> = columns.iter().map(|column| format!("{table}.{column}")).collect();
    all.join(", ")
}
