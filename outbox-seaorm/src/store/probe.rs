//! What the store needs to find in the database.

use outbox_core::{StoreError, StoreErrorKind, TableNames};

use crate::entity::{DEAD_LETTER, LANE, MESSAGE, PARKED, PARKED_KEY, Table, WORKER};

/// Statements that fail if a table or column that the store uses is missing, and read nothing.
pub(super) fn probes(names: &TableNames, quote: char) -> Vec<String> {
    let probe = |table: Table| {
        let columns: Vec<&str> = table.columns().collect();
        format!("SELECT {} FROM {} LIMIT 0", columns.join(", "), names.quoted(table.word, quote))
    };
    [MESSAGE, DEAD_LETTER, PARKED, LANE, PARKED_KEY, WORKER].map(probe).into()
}

/// The statement that counts the lanes, all of which the migrations make.
pub(super) fn lanes(names: &TableNames, quote: char) -> String {
    format!("SELECT count(*) FROM {}", names.quoted("lane", quote))
}

/// A write that changes nothing, for where no privilege tells whether writing is possible.
///
/// It must be a statement and not a transaction: of a file that is read-only, SQLite makes the
/// transaction of a writer that of a reader, without a word.
#[cfg(feature = "sqlite")]
pub(super) fn write(names: &TableNames) -> String {
    format!("UPDATE {} SET lane = lane WHERE false", names.quoted("lane", '"'))
}

/// Says what to do where the schema is the trouble.
pub(super) fn explained(error: StoreError) -> StoreError {
    if error.kind() != StoreErrorKind::SchemaMissing {
        return error;
    }
    let advice = StoreError::new(StoreErrorKind::SchemaMissing, "run `outbox-worker migrate`");
    match std::error::Error::source(&error) {
        Some(cause) => advice.with_source(cause.to_string()),
        None => advice,
    }
}
