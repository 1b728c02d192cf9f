//! Short transactions.

use outbox_core::StoreError;
#[cfg(feature = "mysql")]
use sea_orm::DbBackend;
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DatabaseTransaction, QueryResult, SqliteTransactionMode,
    Statement, TransactionOptions, TransactionTrait, Value,
};

use crate::mapping::failed;
#[cfg(feature = "mysql")]
use crate::mapping::is_deadlock;

/// How often a transaction is tried that ends in a deadlock.
#[cfg(feature = "mysql")]
const TRIES: u32 = 3;

/// Makes the attempt again where MariaDB or MySQL rolled it back to end a deadlock.
///
/// A wait for a lock that lasted too long is not repeated here: it has used up the caller's
/// patience, and the caller repeats the whole call.
pub(crate) async fn repeated<T, F>(attempt: impl Fn() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    #[cfg(feature = "mysql")]
    for _ in 1..TRIES {
        match attempt().await {
            Err(error) if is_deadlock(&error) => {}
            ended => return ended,
        }
    }
    attempt().await
}

/// A transaction, which must be READ COMMITTED, and on SQLite a writer from its begin.
///
/// Under the default of MariaDB and MySQL, REPEATABLE READ, a search for lanes would lock those that
/// it does not choose, and a settlement of a record that is gone would lock out the application's
/// inserts. On SQLite a transaction that begins as a reader and then writes is refused at once while
/// another writer is about, however long it would be willing to wait.
pub(crate) struct Brief {
    pub(super) txn: DatabaseTransaction,
    operation: &'static str,
}

impl Brief {
    pub(crate) async fn begin(
        db: &DatabaseConnection,
        operation: &'static str,
    ) -> Result<Self, StoreError> {
        let options = TransactionOptions {
            sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
            ..TransactionOptions::default()
        };
        let txn = db.begin_with_options(options).await.map_err(failed(operation))?;
        Ok(Self { txn, operation })
    }

    pub(crate) async fn rows(
        &self,
        text: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<Vec<QueryResult>, StoreError> {
        self.txn.query_all_raw(self.statement(text, values)).await.map_err(failed(self.operation))
    }

    /// The first column of each row, which is an index.
    #[cfg(feature = "mysql")]
    pub(crate) async fn indices(
        &self,
        text: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<Vec<usize>, StoreError> {
        let rows = self.rows(text, values).await?;
        let index = |row: &QueryResult| {
            let index: i64 = row.try_get_by_index(0).map_err(failed(self.operation))?;
            Ok(usize::try_from(index).unwrap_or(usize::MAX))
        };
        rows.iter().map(index).collect()
    }

    /// How many rows it changed, or found as they should be.
    pub(crate) async fn execute(
        &self,
        text: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<u64, StoreError> {
        let done = self.txn.execute_raw(self.statement(text, values)).await;
        Ok(done.map_err(failed(self.operation))?.rows_affected())
    }

    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        self.txn.commit().await.map_err(failed(self.operation))
    }

    pub(crate) async fn rollback(self) -> Result<(), StoreError> {
        self.txn.rollback().await.map_err(failed(self.operation))
    }

    fn statement(&self, text: &str, values: impl IntoIterator<Item = Value>) -> Statement {
        Statement::from_sql_and_values(self.txn.get_database_backend(), text, values)
    }
}

#[cfg(feature = "mysql")]
pub(crate) fn statement(text: &str, values: impl IntoIterator<Item = Value>) -> Statement {
    Statement::from_sql_and_values(DbBackend::MySql, text, values)
}
