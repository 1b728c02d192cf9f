//! Staging on real databases: each promise on SQLite, PostgreSQL and MariaDB.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that goes wrong must stop at once"
)]

mod before;
mod bulk;
mod bypass;
mod codec;
mod compile_errors;
mod context;
mod database;
mod emit;
mod errors;
mod faults;
mod generic;
mod given_up;
mod guard;
mod hooks;
mod insert;
mod isolation;
mod junction;
mod kit;
mod layer;
mod limits;
mod middleware;
mod mock;
mod nested;
mod own_hooks;
mod proof;
mod rbac;
mod retry;
mod schema;
mod settings;
mod shop;
mod sqlite_turn;
mod stage;
mod staged;
mod store_acquired;
mod store_claims;
mod store_connect;
mod store_connections;
mod store_errors;
mod store_fixture;
mod store_fleet;
mod store_full_mariadb;
mod store_full_postgres;
mod store_hot;
mod store_lease;
mod store_mariadb;
mod store_named;
mod store_park;
mod store_plans_sqlite;
mod store_privileges;
mod store_privileges_mariadb;
mod store_races;
mod store_races_mariadb;
mod store_read;
mod store_record;
mod store_settle;
mod store_stats;
mod store_trouble;
mod store_unknown;
mod tenants;
mod transactions;
mod wake;

/// Runs each promise as a test on both databases.
macro_rules! on_both {
    ($module:ident: $($promise:ident),+ $(,)?) => {
        mod on_sqlite {
            $(#[tokio::test]
            async fn $promise() {
                crate::database::on_sqlite(crate::$module::$promise).await;
            })+
        }
        mod on_postgres {
            $(#[tokio::test]
            async fn $promise() {
                crate::database::on_postgres(crate::$module::$promise).await;
            })+
        }
    };
}
pub(crate) use on_both;

/// Runs each promise as a test on every database.
macro_rules! on_all {
    ($module:ident: $($promise:ident),+ $(,)?) => {
        crate::on_both!($module: $($promise),+);
        mod on_mariadb {
            $(#[tokio::test]
            async fn $promise() {
                crate::database::on_mariadb(crate::$module::$promise).await;
            })+
        }
    };
}
pub(crate) use on_all;
