//! The database under measurement.

use std::num::NonZeroU32;

use outbox_seaorm::PoolOptions;
use sea_orm::sqlx::{self, AssertSqlSafe, PgPool};
use sea_orm::{ConnectOptions, Database, DatabaseConnection};

use crate::Done;

/// A pool for the application's side and for floors.
pub(crate) async fn application(url: &str, connections: u32) -> Done<DatabaseConnection> {
    let mut options = ConnectOptions::new(url);
    options
        .max_connections(connections)
        .min_connections(connections)
        .test_before_acquire(false)
        .sqlx_logging(false);
    let db = Database::connect(options).await?;
    refuse_lowered_durability(db.get_postgres_connection_pool()).await?;
    Ok(db)
}

/// A pool as the worker binary makes it.
pub(crate) async fn worker(url: &str, connections: NonZeroU32) -> Done<DatabaseConnection> {
    let options = PoolOptions { max_connections: connections, ..PoolOptions::default() };
    Ok(outbox_seaorm::connect(url, options).await?)
}

/// Figures without durable commits would compare nothing that anyone runs.
async fn refuse_lowered_durability(pool: &PgPool) -> Done<()> {
    for setting in ["fsync", "synchronous_commit"] {
        let shown: String =
            sqlx::query_scalar(AssertSqlSafe(format!("SHOW {setting}"))).fetch_one(pool).await?;
        if shown != "on" {
            return Err(format!("{setting} is {shown}: measure with durable commits").into());
        }
    }
    Ok(())
}

/// Runs statements one after another.
pub(crate) async fn run(pool: &PgPool, statements: &[&str]) -> Done<()> {
    for statement in statements {
        sqlx::query(AssertSqlSafe((*statement).to_owned())).execute(pool).await?;
    }
    Ok(())
}
