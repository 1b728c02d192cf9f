//! Creates the outbox: all tables, the sequence and the first rows. Frozen.
//!
//! Each dialect is a sibling file with the same functions; a database joins by adding one.

mod mysql;
mod postgres;
mod sqlite;

use async_trait::async_trait;
use sea_orm_migration::{
    MigrationName, MigrationTrait, SchemaManager,
    sea_orm::{
        ConnectionTrait, DatabaseTransaction, DbBackend, DbErr, Statement, TransactionTrait,
    },
};
use uuid::Uuid;

use outbox_core::TableNames;

use crate::{backend, mysql as catalogue, names::SqlNames as _};

/// Written by hand, not taken from the file's name: a renamed file must not run again.
const NAME: &str = "m20260101_000001_outbox_create";

/// The lowest version of the binaries that can work on these tables.
const LOWEST_BINARY_VERSION: &str = "0.1.0";

const TABLES: [&str; 11] = [
    "audit",
    "claim",
    "dead_letter",
    "inbox",
    "lane",
    "message",
    "meta",
    "parked",
    "parked_key",
    "published",
    "worker",
];

#[derive(Debug)]
pub(crate) struct OutboxCreate {
    names: TableNames,
    name: String,
}

impl OutboxCreate {
    pub(crate) fn new(names: &TableNames) -> Self {
        Self { names: names.clone(), name: names.migration(NAME) }
    }

    async fn create<C: ConnectionTrait>(&self, db: &C) -> Result<Vec<String>, DbErr> {
        // Random, not derived from anything: a restored or cloned database keeps the id, a database
        // that was made anew has another.
        let deployment = Uuid::new_v4();
        match db.get_database_backend() {
            DbBackend::MySql => {
                Ok(mysql::create(&self.names, catalogue::collation(db).await?, deployment))
            }
            DbBackend::Postgres => Ok(postgres::create(&self.names, deployment)),
            DbBackend::Sqlite => Ok(sqlite::create(&self.names, deployment)),
            _ => Err(backend::unsupported()),
        }
    }

    fn drop(&self, backend: DbBackend) -> Vec<String> {
        let quote = if backend == DbBackend::MySql { '`' } else { '"' };
        let drop =
            |table: &str| format!("DROP TABLE IF EXISTS {}", self.names.quoted(table, quote));
        TABLES.map(drop).to_vec()
    }

    fn present(&self, backend: DbBackend) -> Result<String, DbErr> {
        match backend {
            DbBackend::MySql => Ok(mysql::foreign(&self.names)),
            DbBackend::Postgres => Ok(postgres::present(&self.names)),
            DbBackend::Sqlite => Ok(sqlite::present(&self.names)),
            _ => Err(backend::unsupported()),
        }
    }

    /// Whether the tables are there already, made by the other way to run this migration.
    ///
    /// On MySQL the answer is no where they are an outbox's, whole or half: there they are told from
    /// others by their comment, and creating them once more leaves alone what is there.
    ///
    /// # Errors
    /// [`DbErr::Migration`] if only some of the names are taken: those tables are not an outbox's,
    /// and to build around them would fail later and less clearly.
    async fn exists<C: ConnectionTrait>(&self, db: &C) -> Result<bool, DbErr> {
        let backend = db.get_database_backend();
        let rows =
            db.query_all_raw(Statement::from_string(backend, self.present(backend)?)).await?;
        let taken: Vec<String> =
            rows.iter().map(|row| row.try_get("", "name")).collect::<Result<_, _>>()?;
        // SQLite takes names that differ in capitals for the same: those are another outbox's.
        let own = TABLES.map(|table| self.names.identifier(table));
        let whole = taken.len() == own.len()
            && backend != DbBackend::MySql
            && taken.iter().all(|table| own.contains(table));
        if taken.is_empty() || whole {
            return Ok(whole);
        }
        Err(DbErr::Migration(format!(
            "the outbox needs the name of {}, which exists already: give the outbox another prefix",
            taken.join(", ")
        )))
    }
}

/// Runs these statements, on SQLite all or none.
///
/// PostgreSQL does so by itself, because sea-orm begins a transaction there, and MySQL cannot.
async fn run<C>(db: &C, statements: Vec<String>) -> Result<(), DbErr>
where
    C: ConnectionTrait + TransactionTrait<Transaction = DatabaseTransaction>,
{
    if db.get_database_backend() == DbBackend::Sqlite {
        let txn = db.begin().await?;
        each(&txn, statements).await?;
        return txn.commit().await;
    }
    each(db, statements).await
}

async fn each<C: ConnectionTrait>(db: &C, statements: Vec<String>) -> Result<(), DbErr> {
    for statement in statements {
        db.execute_unprepared(&statement).await?;
    }
    Ok(())
}

impl MigrationName for OutboxCreate {
    fn name(&self) -> &str {
        &self.name
    }
}

#[async_trait]
impl MigrationTrait for OutboxCreate {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        backend::check(db.get_database_backend(), &self.names)?;
        backend::ensure_schema(db, &self.names).await?;
        if self.exists(db).await? {
            return Ok(());
        }
        run(db, self.create(db).await?).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        backend::check(db.get_database_backend(), &self.names)?;
        run(db, self.drop(db.get_database_backend())).await
    }
}

/// The tables as a list of SQL strings.
fn literals(names: &TableNames) -> String {
    TABLES.map(|table| names.literal(table)).join(", ")
}
