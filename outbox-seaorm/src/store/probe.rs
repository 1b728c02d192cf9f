//! What the store needs to find in the database.

use outbox_core::{Lane, StoreError, StoreErrorKind, TableNames};
use sea_orm::{ConnectionTrait, DatabaseConnection, QueryResult, Statement, TryGetable};

use crate::entity::{CLAIM, DEAD_LETTER, LANE, MESSAGE, PARKED, PARKED_KEY, Table, WORKER};
use crate::mapping::{Cause, failed, unreadable};

/// What an outbox must look like, whatever the database.
#[derive(Debug)]
pub(super) struct Shape {
    probes: Vec<String>,
    count_lanes: String,
}

impl Shape {
    /// Of the outbox with these names, which are quoted so.
    pub(super) fn new(names: &TableNames, quote: char) -> Self {
        let probe = |table: Table| {
            let columns = table.columns().collect::<Vec<_>>().join(", ");
            format!("SELECT {columns} FROM {} LIMIT 0", names.quoted(table.word, quote))
        };
        Self {
            probes: [MESSAGE, DEAD_LETTER, PARKED, LANE, PARKED_KEY, WORKER, CLAIM]
                .map(probe)
                .into(),
            count_lanes: format!("SELECT count(*) FROM {}", names.quoted("lane", quote)),
        }
    }

    /// Fails if a table or column that the store uses is missing, or one of the lanes, all of which
    /// the migrations make.
    pub(super) async fn check(&self, db: &DatabaseConnection) -> Result<(), StoreError> {
        for probe in &self.probes {
            rows(db, probe).await.map_err(explained)?;
        }
        let lanes: i64 = value(db, &self.count_lanes).await?;
        if lanes == i64::from(Lane::COUNT) {
            Ok(())
        } else {
            Err(explained(StoreError::new(StoreErrorKind::SchemaMissing, CHECK)))
        }
    }
}

/// What [`StoreError`] names as the operation.
pub(super) const CHECK: &str = "check";

pub(super) async fn rows(
    db: &DatabaseConnection,
    text: &str,
) -> Result<Vec<QueryResult>, StoreError> {
    let statement = Statement::from_string(db.get_database_backend(), text);
    db.query_all_raw(statement).await.map_err(failed(CHECK))
}

pub(super) async fn value<T: TryGetable>(
    db: &DatabaseConnection,
    text: &str,
) -> Result<T, StoreError> {
    let rows = rows(db, text).await?;
    let row = rows.first().ok_or_else(|| unreadable(CHECK))?;
    row.try_get_by_index(0).map_err(failed(CHECK))
}

/// What stands in the way, in a sentence for the operator.
pub(super) fn unfit(kind: StoreErrorKind, why: impl Into<String>) -> StoreError {
    StoreError::new(kind, CHECK).with_source(Cause(why.into()))
}

/// Names every grant at once, so that an operator need not find them one by one.
#[cfg(any(feature = "mysql", feature = "postgres"))]
pub(super) fn granted(lacking: &[String]) -> Result<(), StoreError> {
    if lacking.is_empty() {
        return Ok(());
    }
    let grants = lacking.join(" and GRANT ");
    let why = format!("the database role lacks privileges: GRANT {grants} to it");
    Err(unfit(StoreErrorKind::PermissionDenied, why))
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
fn explained(error: StoreError) -> StoreError {
    if error.kind() != StoreErrorKind::SchemaMissing {
        return error;
    }
    let advice = StoreError::new(StoreErrorKind::SchemaMissing, "run `outbox-worker migrate`");
    match std::error::Error::source(&error) {
        Some(cause) => advice.with_source(cause.to_string()),
        None => advice,
    }
}
