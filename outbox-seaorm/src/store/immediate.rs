//! Transactions on SQLite.

use outbox_core::StoreError;
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbBackend, QueryResult,
    SqliteTransactionMode, Statement, TransactionOptions, TransactionTrait, Value,
};

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
