//! Transactions on SQLite.

use std::fmt::Write as _;

use outbox_core::{LaneLease, StoreError};
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbBackend, QueryResult,
    SqliteTransactionMode, Statement, TransactionOptions, TransactionTrait, Value,
};
use uuid::Uuid;

use crate::mapping::{failed, unreadable};
use crate::statement::clock::SQLITE_NOW;

/// A transaction that is a writer from its begin, with one instant for all that it does.
///
/// One that begins as a reader and then writes is refused at once while another writer is about,
/// however long it would be willing to wait.
pub(crate) struct Immediate {
    txn: DatabaseTransaction,
    operation: &'static str,
    /// The database's clock, in microseconds.
    pub(crate) now: i64,
}

impl Immediate {
    pub(crate) async fn begin(
        db: &DatabaseConnection,
        operation: &'static str,
    ) -> Result<Self, StoreError> {
        let options = TransactionOptions {
            sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
            ..TransactionOptions::default()
        };
        let txn = db.begin_with_options(options).await.map_err(failed(operation))?;
        let now = now(&txn, operation).await?;
        Ok(Self { txn, operation, now })
    }

    pub(crate) async fn rows(
        &self,
        text: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<Vec<QueryResult>, StoreError> {
        self.txn.query_all_raw(statement(text, values)).await.map_err(failed(self.operation))
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
        let done = self.txn.execute_raw(statement(text, values)).await;
        done.map(drop).map_err(failed(self.operation))
    }

    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        self.txn.commit().await.map_err(failed(self.operation))
    }
}

/// The database's clock in microseconds.
pub(crate) async fn now(
    db: &impl ConnectionTrait,
    operation: &'static str,
) -> Result<i64, StoreError> {
    let statement = Statement::from_string(DbBackend::Sqlite, format!("SELECT {SQLITE_NOW}"));
    let row = db.query_one_raw(statement).await.map_err(failed(operation))?;
    row.ok_or_else(|| unreadable(operation))?.try_get_by_index(0).map_err(failed(operation))
}

pub(crate) fn statement(text: &str, values: impl IntoIterator<Item = Value>) -> Statement {
    Statement::from_sql_and_values(DbBackend::Sqlite, text, values)
}

/// Leases as a JSON list of lane and token, the token as `hex()` writes it.
pub(crate) fn json_leases(leases: &[LaneLease]) -> String {
    json_list(leases, |text, lease| {
        let LaneLease { lane, token } = lease;
        _ = write!(text, "[{lane},\"{}\"]", hex(token.uuid()));
    })
}

/// Lanes as a JSON list.
pub(crate) fn json_lanes(leases: &[LaneLease]) -> String {
    json_list(leases, |text, lease| _ = write!(text, "{}", lease.lane))
}

/// A UUID as SQLite's `hex()` writes it.
pub(crate) fn hex(id: Uuid) -> String {
    format!("{:X}", id.simple())
}

/// A JSON list, each item as `write` puts it.
pub(crate) fn json_list<T>(items: &[T], write: impl Fn(&mut String, &T)) -> String {
    let mut text = String::from("[");
    for (nth, item) in items.iter().enumerate() {
        if nth > 0 {
            text.push(',');
        }
        write(&mut text, item);
    }
    text.push(']');
    text
}
