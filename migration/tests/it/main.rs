//! The migrations on real databases: each promise on MariaDB, PostgreSQL and SQLite.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test fails by panicking, also in what its cases share"
)]

mod catalogue;
#[cfg(feature = "cli")]
mod cli;
#[cfg(feature = "cli")]
mod mariadb;
mod names;
mod postgres;
mod promises;
mod splice;
mod sqlite;

/// Runs each promise as a test on each database.
macro_rules! on_each {
    ($module:ident: $($promise:ident),+ $(,)?) => {
        crate::on!(on_mariadb, $module: $($promise),+);
        crate::on!(on_postgres, $module: $($promise),+);
        crate::on!(on_sqlite, $module: $($promise),+);
    };
}
pub(crate) use on_each;

/// Runs each promise as a test on one database.
macro_rules! on {
    ($database:ident, $module:ident: $($promise:ident),+) => {
        mod $database {
            $(#[tokio::test]
            async fn $promise() {
                outbox_test_databases::$database(crate::$module::$promise).await;
            })+
        }
    };
}
pub(crate) use on;
