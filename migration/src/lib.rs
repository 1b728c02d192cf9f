//! Schema of the outbox: frozen migrations and the lock they run under.
//!
//! Two ways to bring the tables into a database; choose one.
//!
//! - An application with migrations of its own splices [`migrations`] into its `Migrator`: one
//!   history, one command.
//! - [`migrate`] runs them alone, recorded in a table of their own (`outbox_migrations`), so they
//!   never meet the application's history. Any number of processes may call it at once.
//!
//! Doing both is harmless: tables that are all there already are left as they are.
//!
//! ```no_run
//! use sea_orm_migration::prelude::*;
//!
//! struct AppMigrator;
//!
//! impl MigratorTrait for AppMigrator {
//!     fn migrations() -> Vec<Box<dyn MigrationTrait>> {
//!         let mut all: Vec<Box<dyn MigrationTrait>> = vec![/* the application's own */];
//!         all.extend(outbox_migration::migrations());
//!         all
//!     }
//! }
//! ```
//!
//! sea-orm's own `up` takes no lock: processes that start together and all call it fail on each
//! other. [`migrate`] does take one.
//!
//! # Databases
//!
//! PostgreSQL from version 13, SQLite from 3.35, MariaDB from 10.6 and MySQL from 8.0.17. On the
//! last two a schema is a database, a topic has at most 256 characters, an ordering key 510 and the
//! name of an inbox's consumer 255: what is longer is an error, whatever the session's SQL mode is.
//! [`migrate`] takes the feature `mysql` there, which the default feature `cli` has in it.

mod backend;
mod exclusive;
mod m20260101_000001_outbox_create;
mod migrator;
mod mysql;
mod names;
mod run;
mod status;

pub use migrator::{Migrator, migrations, migrations_with};
pub use outbox_core::TableNames;
pub use run::{drop_all, drop_all_with, migrate, migrate_with};
pub use status::{Status, status, status_with};
