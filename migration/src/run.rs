//! Applying and undoing the migrations under the lock.

use sea_orm_migration::{
    MigratorTraitSelf,
    sea_orm::{DatabaseConnection, DbErr},
};

use outbox_core::TableNames;

use crate::{exclusive, migrator::NamedMigrator, status};

/// Brings the default outbox's tables up to this version.
///
/// All pending migrations take effect or none. Any number of processes may call this at once:
/// one works, the others wait and find nothing left to do. Calling it again is harmless, and so is
/// calling it on a schema that a newer version made.
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
    let txn = exclusive::begin(db, names).await?;
    NamedMigrator(names).up(&txn, None).await?;
    txn.commit().await
}

/// Drops the default outbox's tables, with every event that was not sent.
///
/// For development and for taking the outbox out of an application. Tables that an application's
/// own migrator created are recorded there and stay. Calling this twice is harmless.
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
    let txn = exclusive::begin(db, names).await?;
    let unknown = status::read(&txn, names).await?.unknown;
    if !unknown.is_empty() {
        return Err(DbErr::Migration(format!(
            "a newer version of the outbox schema is applied ({}): drop it with that version",
            unknown.join(", ")
        )));
    }
    NamedMigrator(names).reset(&txn).await?;
    txn.commit().await
}
