//! Connections to the application's database.

use std::num::NonZeroU32;

use outbox_core::TableNames;
use outbox_seaorm::{PoolOptions, SeaOrmStore};
use sea_orm::DatabaseConnection;
use secrecy::ExposeSecret;

use crate::settings::Settings;
use crate::trouble::Trouble;

/// A pool of its own.
pub(crate) async fn connect(
    settings: &Settings,
    connections: NonZeroU32,
) -> Result<DatabaseConnection, Trouble> {
    let url = settings.database_url.as_ref().ok_or_else(|| {
        Trouble::plain("no database is configured: set DATABASE_URL or database_url")
    })?;
    let options = PoolOptions { max_connections: connections, ..PoolOptions::default() };
    outbox_seaorm::connect(url.expose_secret(), options)
        .await
        .map_err(|error| Trouble::new("the database cannot be reached", error))
}

/// A store over a pool of its own, after a look at the schema.
pub(crate) async fn store(
    settings: &Settings,
    connections: NonZeroU32,
) -> Result<SeaOrmStore, Trouble> {
    let db = connect(settings, connections).await?;
    let store = SeaOrmStore::new(db, tables(settings)?)
        .map_err(|error| Trouble::new("the outbox cannot be used", error))?;
    store.check().await.map_err(|error| Trouble::new("the outbox cannot be used", error))?;
    Ok(store)
}

/// The names of the outbox tables.
pub(crate) fn tables(settings: &Settings) -> Result<TableNames, Trouble> {
    TableNames::new(settings.tables.schema.as_deref(), &settings.tables.prefix)
        .map_err(|error| Trouble::new("settings: tables", error))
}
