//! Columns of the tables that hold messages.

use crate::entity::MESSAGE;
use crate::entity::record::{CONTENT, DELIVERY, FAILURES, NAME, joined};

/// What is selected of a record, in the order in which it is decoded.
pub(crate) const RECORD: [&str; 28] = joined(&[NAME, CONTENT, DELIVERY, FAILURES]);

/// How many of [`RECORD`] are not about failures.
#[cfg(feature = "postgres")]
pub(crate) const STAGED: usize = RECORD.len() - FAILURES.len();

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
