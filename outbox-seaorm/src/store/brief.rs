//! Short transactions on MariaDB and MySQL.

use outbox_core::StoreError;
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbBackend, QueryResult, Statement,
    TransactionTrait, Value,
};

use crate::mapping::{failed, is_deadlock};

/// How often a transaction is tried that ends in a deadlock.
const TRIES: u32 = 3;

/// Makes the attempt again where the server rolled it back to end a deadlock.
///
/// A wait for a lock that lasted too long is not repeated here: it has used up the caller's
/// patience, and the caller repeats the whole call.
pub(crate) async fn repeated<T, F>(attempt: impl Fn() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    for _ in 1..TRIES {
        match attempt().await {
            Err(error) if is_deadlock(&error) => {}
            ended => return ended,
        }
    }
    attempt().await
}

/// A transaction, which must be READ COMMITTED.
///
/// Under the servers' own default, REPEATABLE READ, a search for lanes would lock those that it does
/// not choose, and a settlement of a record that is gone would lock out the application's inserts.
pub(crate) struct Brief {
    txn: DatabaseTransaction,
    operation: &'static str,
}

impl Brief {
    pub(crate) async fn begin(
        db: &DatabaseConnection,
        operation: &'static str,
    ) -> Result<Self, StoreError> {
        let txn = db.begin().await.map_err(failed(operation))?;
        Ok(Self { txn, operation })
    }

    pub(crate) async fn rows(
        &self,
        text: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<Vec<QueryResult>, StoreError> {
        self.txn.query_all_raw(statement(text, values)).await.map_err(failed(self.operation))
    }

    /// The first column of each row, which is an index.
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
        let done = self.txn.execute_raw(statement(text, values)).await;
        Ok(done.map_err(failed(self.operation))?.rows_affected())
    }

    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        self.txn.commit().await.map_err(failed(self.operation))
    }

    pub(crate) async fn rollback(self) -> Result<(), StoreError> {
        self.txn.rollback().await.map_err(failed(self.operation))
    }
}

pub(crate) fn statement(text: &str, values: impl IntoIterator<Item = Value>) -> Statement {
    Statement::from_sql_and_values(DbBackend::MySql, text, values)
}
