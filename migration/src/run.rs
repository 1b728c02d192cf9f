//! Applying and undoing the migrations under the lock.

use sea_orm_migration::{
    MigratorTraitSelf,
    sea_orm::{DatabaseConnection, DbErr},
};

use outbox_core::TableNames;

use crate::{exclusive::Exclusive, migrator::NamedMigrator, status};

/// Brings the default outbox's tables up to this version.
///
/// All pending migrations take effect or none. Any number of processes may call this at once:
/// one works, the others wait and find nothing left to do. Calling it again is harmless, and so is
/// calling it on a schema that a newer version made.
///
/// MySQL and MariaDB keep each table for itself as soon as it is made, so that a process that dies
/// leaves a part. The next call finishes it. There this opens a connection beside those of the pool,
/// waits for other processes as long as the pool waits for a connection, and does not see those that
/// migrate through another server of a Galera cluster. It takes the feature `mysql`, which `cli` has
/// in it.
///
/// # Errors
/// The database's own, or [`DbErr::Migration`] for a database this version has no tables for and
/// for foreign tables that stand under the outbox's names.
pub async fn migrate(db: &DatabaseConnection) -> Result<(), DbErr> {
    migrate_with(db, &TableNames::default()).await
}

/// As [`migrate`], for an outbox with these names. Creates the schema if it is missing.
///
/// The migrations are recorded in `{prefix}migrations`, in that schema.
///
/// # Errors
/// As [`migrate`].
pub async fn migrate_with(db: &DatabaseConnection, names: &TableNames) -> Result<(), DbErr> {
    let exclusive = Exclusive::begin(db, names).await?;
    NamedMigrator(names).up(exclusive.executor(), None).await?;
    exclusive.end().await
}

/// Drops the default outbox's tables, with every event that was not sent.
///
/// For development and for taking the outbox out of an application. Tables that an application's
/// own migrator created are recorded there and stay. Calling this twice is harmless, and finishes
/// what a process that died on MySQL or MariaDB left.
///
/// # Errors
/// The database's own, or [`DbErr::Migration`] if a newer version of the schema is applied: this
/// version does not know all that it created.
pub async fn drop_all(db: &DatabaseConnection) -> Result<(), DbErr> {
    drop_all_with(db, &TableNames::default()).await
}

/// As [`drop_all`], for an outbox with these names. The schema itself stays.
///
/// # Errors
/// As [`drop_all`].
pub async fn drop_all_with(db: &DatabaseConnection, names: &TableNames) -> Result<(), DbErr> {
    let exclusive = Exclusive::begin(db, names).await?;
    let unknown = status::read(exclusive.executor(), names).await?.unknown;
    if !unknown.is_empty() {
        return Err(DbErr::Migration(format!(
            "a newer version of the outbox schema is applied ({}): drop it with that version",
            unknown.join(", ")
        )));
    }
    NamedMigrator(names).reset(exclusive.executor()).await?;
    exclusive.end().await
}
