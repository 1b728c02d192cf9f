//! The lock under which migrations run.

#[cfg(feature = "mysql")]
mod mysql;

use sea_orm_migration::sea_orm::{
    ConnectionTrait, DatabaseConnection, DatabaseExecutor, DatabaseTransaction, DbBackend, DbErr,
    IsolationLevel, SqliteTransactionMode, TransactionOptions, TransactionTrait,
};

use outbox_core::TableNames;

use crate::{backend, names::quoted};

/// The right to migrate, which one process has at a time.
pub(crate) enum Exclusive {
    /// Ends with the transaction.
    Transaction(DatabaseTransaction),
    /// Ends with the only connection of this pool.
    #[cfg(feature = "mysql")]
    Session(DatabaseConnection),
}

impl Exclusive {
    /// Waits for the right to migrate.
    ///
    /// Even `CREATE TABLE IF NOT EXISTS` fails when two sessions run it at once, and sea-orm takes no
    /// lock. The lock ends with a transaction or a connection, so a process that dies leaves none
    /// behind. That of a transaction holds behind a pooler that hands out a server connection for
    /// each.
    pub(crate) async fn begin(db: &DatabaseConnection, names: &TableNames) -> Result<Self, DbErr> {
        let backend = db.get_database_backend();
        backend::check(backend, names)?;
        match backend {
            #[cfg(feature = "mysql")]
            DbBackend::MySql => mysql::session(db, names).await.map(Self::Session),
            #[cfg(not(feature = "mysql"))]
            DbBackend::MySql => Err(DbErr::Migration(
                "migrating MySQL and MariaDB takes the feature `mysql` of outbox-migration"
                    .to_owned(),
            )),
            DbBackend::Postgres => postgres(db, names).await.map(Self::Transaction),
            DbBackend::Sqlite => sqlite(db).await.map(Self::Transaction),
            _ => Err(backend::unsupported()),
        }
    }

    /// Where what is exclusive is done.
    pub(crate) fn executor(&self) -> DatabaseExecutor<'_> {
        match self {
            Self::Transaction(txn) => txn.into(),
            #[cfg(feature = "mysql")]
            Self::Session(db) => db.into(),
        }
    }

    /// Lets what was done take effect and the next process in.
    pub(crate) async fn end(self) -> Result<(), DbErr> {
        match self {
            Self::Transaction(txn) => txn.commit().await,
            #[cfg(feature = "mysql")]
            Self::Session(db) => db.close().await,
        }
    }
}

async fn postgres(
    db: &DatabaseConnection,
    names: &TableNames,
) -> Result<DatabaseTransaction, DbErr> {
    // The statement that waits for the lock must not fix what later ones see: with the snapshot of
    // a stricter level the winner's tables stay invisible and are created a second time.
    let txn = db
        .begin_with_options(TransactionOptions {
            isolation_level: Some(IsolationLevel::ReadCommitted),
            ..TransactionOptions::default()
        })
        .await?;
    txn.execute_unprepared(
        "SELECT pg_advisory_xact_lock(hashtextextended('outbox_migrations', 0))",
    )
    .await?;
    backend::ensure_schema(&txn, names).await?;
    enter_schema(&txn, names).await?;
    Ok(txn)
}

async fn sqlite(db: &DatabaseConnection) -> Result<DatabaseTransaction, DbErr> {
    // A transaction that begins by reading cannot wait for another writer later: SQLite refuses at
    // once, whatever the busy timeout. Taking the write lock first can.
    db.begin_with_options(TransactionOptions {
        sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
        ..TransactionOptions::default()
    })
    .await
}

/// Lets this transaction find and place the migration table in the outbox's schema.
///
/// sea-orm names that table without a schema. Two outboxes with the same prefix in two schemas
/// would otherwise share one.
pub(crate) async fn enter_schema(
    txn: &DatabaseTransaction,
    names: &TableNames,
) -> Result<(), DbErr> {
    if let Some(schema) = names.schema() {
        txn.execute_unprepared(&format!("SET LOCAL search_path TO {}", quoted(schema, '"')))
            .await?;
    }
    Ok(())
}
