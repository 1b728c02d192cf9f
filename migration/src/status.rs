//! Which migrations a database has had.

use outbox_core::TableNames;
use sea_orm_migration::{
    IntoSchemaManagerConnection, SchemaManager,
    sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, DbErr, TransactionTrait},
};

use crate::{
    backend, exclusive,
    migrator::{migrations_with, recorded},
    mysql,
};

/// Names of the migrations, by whether they were applied.
///
/// Tells of the outbox's own migration table. What an application's migrator applied is recorded in
/// that one's table and pending here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// Applied, and known to this version.
    pub applied: Vec<String>,
    /// Not applied.
    pub pending: Vec<String>,
    /// Applied by a newer version.
    pub unknown: Vec<String>,
}

/// Reads which migrations of the default outbox were applied.
///
/// Writes nothing, so that a database user without the right to create tables can ask.
///
/// # Errors
/// The database's own, or [`DbErr::Migration`] for a database this version has no tables for.
pub async fn status(db: &DatabaseConnection) -> Result<Status, DbErr> {
    status_with(db, &TableNames::default()).await
}

/// As [`status`], for an outbox with these names.
///
/// # Errors
/// As [`status`].
pub async fn status_with(db: &DatabaseConnection, names: &TableNames) -> Result<Status, DbErr> {
    backend::check(db.get_database_backend(), names)?;
    let txn = db.begin().await?;
    if db.get_database_backend() == DbBackend::Postgres {
        exclusive::enter_schema(&txn, names).await?;
    }
    let status = read(&txn, names).await?;
    txn.rollback().await?;
    Ok(status)
}

/// As [`status_with`], where PostgreSQL has entered the schema.
pub(crate) async fn read<'c>(
    db: impl IntoSchemaManagerConnection<'c>,
    names: &TableNames,
) -> Result<Status, DbErr> {
    let known: Vec<String> =
        migrations_with(names).iter().map(|migration| migration.name().to_owned()).collect();
    let manager = SchemaManager::new(db);
    let recorded = if has_history(&manager, names).await? {
        recorded(manager.get_connection(), names).await?
    } else {
        Vec::new()
    };
    let (applied, pending) = known.iter().cloned().partition(|name| recorded.contains(name));
    let unknown = recorded.into_iter().filter(|name| !known.contains(name)).collect();
    Ok(Status { applied, pending, unknown })
}

async fn has_history(manager: &SchemaManager<'_>, names: &TableNames) -> Result<bool, DbErr> {
    let db = manager.get_connection();
    if db.get_database_backend() == DbBackend::MySql {
        return mysql::has_table(db, names, "migrations").await;
    }
    manager.has_table(names.identifier("migrations")).await
}
