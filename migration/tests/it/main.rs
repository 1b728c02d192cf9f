//! The migrations on real databases: each promise on SQLite and on PostgreSQL.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test fails by panicking, also in what its cases share"
)]

mod catalogue;
#[cfg(feature = "cli")]
mod cli;
mod names;
mod postgres;
mod promises;
mod splice;
mod sqlite;

/// Runs each promise as a test on both databases.
macro_rules! on_both {
    ($module:ident: $($promise:ident),+ $(,)?) => {
        mod on_sqlite {
            $(#[tokio::test]
            async fn $promise() {
                outbox_test_databases::on_sqlite(crate::$module::$promise).await;
            })+
        }
        mod on_postgres {
            $(#[tokio::test]
            async fn $promise() {
                outbox_test_databases::on_postgres(crate::$module::$promise).await;
            })+
        }
    };
}
pub(crate) use on_both;
