//! The migrations as a list, and the migrators that run them from their own table.

use async_trait::async_trait;
use sea_orm_migration::{
    Migration, MigrationTrait, MigratorTrait, MigratorTraitSelf,
    sea_orm::{ConnectionTrait, DbErr, DynIden},
    sea_query::{Alias, IntoIden, Order, Query},
};

use outbox_core::TableNames;

use crate::m20260101_000001_outbox_create::OutboxCreate;

/// The outbox's migrations, to splice into an application's own.
///
/// Their names are fixed and sort anywhere: sea-orm runs what is not recorded yet, in the order of
/// the list.
pub fn migrations() -> Vec<Box<dyn MigrationTrait>> {
    migrations_with(&TableNames::default())
}

/// As [`migrations`], for an outbox with these names.
pub fn migrations_with(names: &TableNames) -> Vec<Box<dyn MigrationTrait>> {
    vec![Box::new(OutboxCreate::new(names))]
}

/// Runs the migrations of the default outbox, recorded in `outbox_migrations`.
///
/// For tools that want a migrator. It takes no lock; [`migrate`](crate::migrate) does.
#[derive(Clone, Copy, Debug, Default)]
pub struct Migrator;

#[async_trait]
impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        migrations()
    }

    fn migration_table_name() -> DynIden {
        table(&TableNames::default())
    }

    async fn get_pending_migrations<C>(db: &C) -> Result<Vec<Migration>, DbErr>
    where
        C: ConnectionTrait,
    {
        <Self as MigratorTrait>::install(db).await?;
        let files = <Self as MigratorTrait>::get_migration_files();
        pending(db, &TableNames::default(), files).await
    }
}

/// Runs the migrations of an outbox with these names.
pub(crate) struct NamedMigrator<'a>(pub(crate) &'a TableNames);

#[async_trait]
impl MigratorTraitSelf for NamedMigrator<'_> {
    fn migrations(&self) -> Vec<Box<dyn MigrationTrait>> {
        migrations_with(self.0)
    }

    fn migration_table_name(&self) -> DynIden {
        table(self.0)
    }

    async fn get_pending_migrations<C>(&self, db: &C) -> Result<Vec<Migration>, DbErr>
    where
        C: ConnectionTrait,
    {
        self.install(db).await?;
        pending(db, self.0, self.get_migration_files()).await
    }
}

/// Names in the migration table, which must exist.
pub(crate) async fn recorded<C: ConnectionTrait>(
    db: &C,
    names: &TableNames,
) -> Result<Vec<String>, DbErr> {
    let version = Alias::new("version");
    let mut statement = Query::select();
    statement.column(version.clone()).order_by(version, Order::Asc);
    match names.schema() {
        None => statement.from(table(names)),
        Some(schema) => statement.from((Alias::new(schema), table(names))),
    };
    db.query_all(&statement).await?.iter().map(|row| row.try_get("", "version")).collect()
}

/// What of these is not recorded.
///
/// sea-orm refuses a history that holds a name it does not know. Here that is a newer schema under
/// an application that was rolled back, which must be able to start.
async fn pending<C: ConnectionTrait>(
    db: &C,
    names: &TableNames,
    files: Vec<Migration>,
) -> Result<Vec<Migration>, DbErr> {
    let recorded = recorded(db, names).await?;
    Ok(files.into_iter().filter(|file| !recorded.iter().any(|name| name == file.name())).collect())
}

fn table(names: &TableNames) -> DynIden {
    Alias::new(names.identifier("migrations")).into_iden()
}
