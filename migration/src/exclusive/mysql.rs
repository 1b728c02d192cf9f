//! The lock of MySQL and MariaDB.

use std::sync::atomic::{AtomicBool, Ordering};

use sea_orm_migration::sea_orm::{
    ConnectionTrait, DatabaseConnection, DatabaseConnectionType, DbErr, RuntimeErr, Statement,
    sqlx::{self, Executor as _, MySqlPool, mysql::MySqlPoolOptions},
};

use outbox_core::TableNames;

use crate::backend;

/// Opens a pool of one connection that holds the lock of its database until it is closed.
///
/// A transaction cannot hold it: every statement that changes the schema commits. A connection of
/// the caller's pool must not: given back while the lock is held, as when the caller is cancelled,
/// it would keep all others out for as long as it lives.
pub(super) async fn session(
    db: &DatabaseConnection,
    names: &TableNames,
) -> Result<DatabaseConnection, DbErr> {
    if !matches!(db.inner, DatabaseConnectionType::SqlxMySqlPoolConnection(_)) {
        return Err(DbErr::Migration("migrating takes a pool of connections".to_owned()));
    }
    backend::ensure_schema(db, names).await?;
    let pool = db.get_mysql_connection_pool();
    let patience = pool.options().get_acquire_timeout().as_secs().max(1);
    let session = connect(pool, names, patience).await?;
    if lock(&session, patience).await? {
        return Ok(session);
    }
    Err(DbErr::Migration(format!(
        "another process has been migrating this database for {patience} s"
    )))
}

async fn connect(
    pool: &MySqlPool,
    names: &TableNames,
    patience: u64,
) -> Result<DatabaseConnection, DbErr> {
    let mut options = (*pool.connect_options()).clone();
    if let Some(schema) = names.schema() {
        options = options.database(schema);
    }
    // Another connection than the first would not hold the lock.
    let connected = AtomicBool::new(false);
    MySqlPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(pool.options().get_acquire_timeout())
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .after_connect(move |connection, _| {
            let lost = connected.swap(true, Ordering::Relaxed);
            Box::pin(async move {
                if lost {
                    let why = "the connection that held the migration lock is lost";
                    return Err(sqlx::Error::Protocol(why.to_owned()));
                }
                // By itself a server lets a statement wait for a table for a day, or a year.
                let sql = format!("SET SESSION lock_wait_timeout = {patience}");
                connection.execute(sqlx::AssertSqlSafe(sql)).await.map(drop)
            })
        })
        .connect_with(options)
        .await
        .map(DatabaseConnection::from)
        .map_err(|error| DbErr::Conn(RuntimeErr::SqlxError(error.into())))
}

/// Locks by name are the server's, so that the database is part of this one. It has 58 characters
/// of the 64 that MySQL takes.
async fn lock(session: &DatabaseConnection, patience: u64) -> Result<bool, DbErr> {
    let name = "CONCAT('outbox_migrations ', LEFT(SHA2(COALESCE(DATABASE(), ''), 256), 40))";
    let sql = format!("SELECT GET_LOCK({name}, {patience}) AS taken");
    let row = session
        .query_one_raw(Statement::from_string(session.get_database_backend(), sql))
        .await?
        .ok_or_else(|| DbErr::Migration("the server did not answer for the lock".to_owned()))?;
    // Null: the server could not tell.
    Ok(row.try_get::<Option<i64>>("", "taken")? == Some(1))
}
