//! The application's database and its pool.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, bail};
use reqwest::Url;
use sea_orm::sea_query::{Expr, ExprTrait, Query};
use sea_orm::sqlx::postgres::PgConnectOptions;
use sea_orm::sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};
use sea_orm::{
    ConnectOptions, ConnectionTrait, Database, DatabaseConnection, DatabaseTransaction, DbErr,
    SqliteTransactionMode, TransactionOptions, TransactionTrait,
};
use tempfile::TempDir;

/// How long a request waits for a connection, and on SQLite for another writer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where the application keeps its data, and with them the outbox.
pub(crate) struct Home {
    url: String,
    /// Of a database that goes when the program ends.
    folder: Option<TempDir>,
}

impl Home {
    /// The database of this URL; without one, a SQLite file in a temporary folder.
    pub(crate) fn choose(url: Option<String>) -> anyhow::Result<Self> {
        let Some(url) = url.filter(|url| !url.is_empty()) else {
            let folder = tempfile::Builder::new().prefix("quickstart-").tempdir()?;
            let url = format!("sqlite://{}", folder.path().join("shop.db").display());
            return Ok(Self { url, folder: Some(folder) });
        };
        if url.contains(":memory:") || url.contains("mode=memory") {
            bail!(
                "DATABASE_URL must name a file: the worker, with its own pool, has to see it too"
            );
        }
        // Looked at before SeaORM is asked, whose error would repeat it, password and all.
        let usable = match url.split_once(':') {
            Some(("postgres" | "postgresql", _)) => url.parse::<PgConnectOptions>().is_ok(),
            Some(("sqlite", _)) => url.parse::<SqliteConnectOptions>().is_ok(),
            _ => false,
        };
        if !usable {
            bail!("DATABASE_URL must be of the form postgres://… or sqlite:…");
        }
        Ok(Self { url, folder: None })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn is_temporary(&self) -> bool {
        self.folder.is_some()
    }

    /// The URL without what may be secret in it.
    pub(crate) fn shown(&self) -> String {
        let Ok(mut url) = Url::parse(&self.url) else { return "as DATABASE_URL says".to_owned() };
        // A URL that can bear no password has none to hide.
        let _ = url.set_password(None);
        url.set_query(None);
        if self.is_temporary() { format!("{url} (removed at the end)") } else { url.into() }
    }

    /// The pool of the web API. The worker has its own, so neither waits for the other.
    pub(crate) async fn connect(&self) -> anyhow::Result<DatabaseConnection> {
        let mut options = ConnectOptions::new(&self.url);
        options.max_connections(5).acquire_timeout(PATIENCE).map_sqlx_sqlite_opts(|sqlite| {
            // With a write-ahead log the worker reads while the application writes.
            sqlite
                .create_if_missing(true)
                .journal_mode(SqliteJournalMode::Wal)
                .busy_timeout(PATIENCE)
        });
        Database::connect(options).await.context("the database cannot be reached")
    }
}

/// Begins a transaction that writes.
///
/// On SQLite it takes the write lock at once: one that reads first cannot wait for another writer
/// later, whatever the busy timeout says. Elsewhere the mode means nothing.
pub(crate) async fn begin(db: &DatabaseConnection) -> Result<DatabaseTransaction, DbErr> {
    db.begin_with_options(TransactionOptions {
        sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
        ..TransactionOptions::default()
    })
    .await
}

/// How many events with these correlation ids wait in the outbox.
pub(crate) async fn waiting(
    db: &DatabaseConnection,
    correlation_ids: &BTreeSet<String>,
) -> anyhow::Result<i64> {
    let count = Query::select()
        .expr(Expr::col("id").count())
        .from("outbox_message")
        .and_where(Expr::col("correlation_id").is_in(correlation_ids))
        .take();
    let row = db.query_one(&count).await?.context("a count has a row")?;
    Ok(row.try_get_by_index(0)?)
}
