//! Transactions on SQLite.

use outbox_core::StoreError;
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, QueryResult, Statement, Value};

use super::brief::Brief;
use crate::mapping::{failed, unreadable};
use crate::statement::clock::Now;

/// A transaction that is a writer from its begin, with one instant for all that it does.
pub(crate) struct Immediate {
    txn: Brief,
    operation: &'static str,
    /// The instant, in microseconds.
    pub(crate) now: i64,
}

impl Immediate {
    pub(crate) async fn begin(
        db: &DatabaseConnection,
        operation: &'static str,
        clock: Now,
    ) -> Result<Self, StoreError> {
        let txn = Brief::begin(db, operation).await?;
        let now = now(&txn.txn, operation, clock).await?;
        Ok(Self { txn, operation, now })
    }

    pub(crate) async fn rows(
        &self,
        text: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<Vec<QueryResult>, StoreError> {
        self.txn.rows(text, values).await
    }

    /// The first column of each row.
    pub(crate) async fn numbers(
        &self,
        text: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<Vec<i64>, StoreError> {
        let rows = self.rows(text, values).await?;
        let number = |row: &QueryResult| row.try_get_by_index(0).map_err(failed(self.operation));
        rows.iter().map(number).collect()
    }

    pub(crate) async fn execute(
        &self,
        text: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<(), StoreError> {
        self.txn.execute(text, values).await.map(drop)
    }

    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        self.txn.commit().await
    }
}

/// What the clock shows, in microseconds.
pub(crate) async fn now(
    db: &impl ConnectionTrait,
    operation: &'static str,
    clock: Now,
) -> Result<i64, StoreError> {
    if let Now::At(instant) = clock {
        return Ok(instant.timestamp_micros());
    }
    let statement = Statement::from_string(DbBackend::Sqlite, format!("SELECT {}", clock.sqlite()));
    let row = db.query_one_raw(statement).await.map_err(failed(operation))?;
    row.ok_or_else(|| unreadable(operation))?.try_get_by_index(0).map_err(failed(operation))
}

pub(crate) fn statement(text: &str, values: impl IntoIterator<Item = Value>) -> Statement {
    Statement::from_sql_and_values(DbBackend::Sqlite, text, values)
}
