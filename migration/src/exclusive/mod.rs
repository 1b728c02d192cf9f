//! The lock under which migrations run.

use sea_orm_migration::sea_orm::{
    ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbBackend, DbErr, IsolationLevel,
    SqliteTransactionMode, TransactionOptions, TransactionTrait,
};

use outbox_core::TableNames;

use crate::{backend, names::quoted};

/// Begins a transaction that only one migrating process can be in.
///
/// Even `CREATE TABLE IF NOT EXISTS` fails when two sessions run it at once, and sea-orm takes no
/// lock. The lock ends with the transaction, so a process that dies leaves none behind, and it
/// holds behind a pooler that hands out a server connection per transaction.
pub(crate) async fn begin(
    db: &DatabaseConnection,
    names: &TableNames,
) -> Result<DatabaseTransaction, DbErr> {
    backend::check(db.get_database_backend(), names)?;
    match db.get_database_backend() {
        DbBackend::Postgres => postgres(db, names).await,
        DbBackend::Sqlite => sqlite(db).await,
        _ => Err(backend::unsupported()),
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
        txn.execute_unprepared(&format!("SET LOCAL search_path TO {}", quoted(schema))).await?;
    }
    Ok(())
}
