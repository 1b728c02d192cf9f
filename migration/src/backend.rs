//! Which databases this version of the schema is written for.

use sea_orm_migration::sea_orm::{ConnectionTrait, DbBackend, DbErr, Statement};

use outbox_core::TableNames;

use crate::{
    mysql,
    names::{SqlNames as _, quoted},
};

/// Refuses a database, or names on it, for which there are no tables.
pub(crate) fn check(backend: DbBackend, names: &TableNames) -> Result<(), DbErr> {
    match backend {
        DbBackend::MySql => mysql::check(names),
        DbBackend::Postgres => Ok(()),
        DbBackend::Sqlite => match names.schema() {
            None => Ok(()),
            Some(schema) => Err(DbErr::Migration(format!(
                "SQLite has no schemas: name the outbox without \"{schema}\""
            ))),
        },
        _ => Err(unsupported()),
    }
}

pub(crate) fn unsupported() -> DbErr {
    DbErr::Migration("this database is not supported by the outbox schema".to_owned())
}

/// Creates the schema of these names where it is missing.
///
/// Looked up first: `CREATE SCHEMA IF NOT EXISTS` asks for the right to create schemas even when
/// there is nothing to create.
pub(crate) async fn ensure_schema<C: ConnectionTrait>(
    db: &C,
    names: &TableNames,
) -> Result<(), DbErr> {
    let Some(schema) = names.schema() else { return Ok(()) };
    if db.get_database_backend() == DbBackend::MySql {
        return mysql::ensure_schema(db, schema).await;
    }
    let literal = names.schema_literal().unwrap_or_default();
    let found = db
        .query_one_raw(Statement::from_string(
            db.get_database_backend(),
            format!("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = {literal}"),
        ))
        .await?;
    if found.is_none() {
        db.execute_unprepared(&format!("CREATE SCHEMA {}", quoted(schema, '"'))).await?;
    }
    Ok(())
}
