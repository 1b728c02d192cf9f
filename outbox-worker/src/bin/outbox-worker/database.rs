//! Connections to the application's database.

use std::error::Error as _;
use std::num::NonZeroU32;
use std::sync::Arc;

use outbox_core::{StoreError, StoreErrorKind, TableNames, WakeSource};
use outbox_seaorm::{PoolOptions, SeaOrmStore, WakeListener};
use sea_orm::DatabaseConnection;
use secrecy::ExposeSecret;

use crate::exit_reason::ExitReason;
use crate::settings::Settings;

/// A pool of its own.
pub(crate) async fn connect(
    settings: &Settings,
    connections: NonZeroU32,
) -> Result<DatabaseConnection, ExitReason> {
    let url = settings.database_url.as_ref().ok_or_else(|| {
        ExitReason::plain("no database is configured: set DATABASE_URL or database_url")
    })?;
    let options = PoolOptions { max_connections: connections, ..PoolOptions::default() };
    outbox_seaorm::connect(url.expose_secret(), options).await.map_err(unusable)
}

/// A store over a pool of its own, for a dispatcher that can do all of its work.
pub(crate) async fn store(
    settings: &Settings,
    connections: NonZeroU32,
) -> Result<SeaOrmStore, ExitReason> {
    let store = unchecked(settings, connections).await?;
    store.check().await.map_err(unfit)?;
    Ok(store)
}

/// Another store of the outbox that [`store`] has checked, over one connection.
pub(crate) async fn another_store(settings: &Settings) -> Result<SeaOrmStore, ExitReason> {
    unchecked(settings, NonZeroU32::MIN).await
}

/// A store over a single connection, for a look that needs no right to write.
pub(crate) async fn store_to_read(settings: &Settings) -> Result<SeaOrmStore, ExitReason> {
    let store = unchecked(settings, NonZeroU32::MIN).await?;
    store.check_tables().await.map_err(unfit)?;
    Ok(store)
}

/// What writers on PostgreSQL tell, over one more connection.
pub(crate) async fn wakes(settings: &Settings) -> Result<Option<Arc<dyn WakeSource>>, ExitReason> {
    if !settings.pool.listen || !is_at(settings, "postgres") {
        return Ok(None);
    }
    let db = connect(settings, NonZeroU32::MIN).await?;
    let listener = WakeListener::new(&db, &tables(settings)?);
    let listener = listener.map_err(|error| ExitReason::new("wake-ups cannot be heard", error))?;
    Ok(Some(Arc::new(listener)))
}

/// The names of the outbox tables.
pub(crate) fn tables(settings: &Settings) -> Result<TableNames, ExitReason> {
    TableNames::new(settings.tables.schema.as_deref(), &settings.tables.prefix)
        .map_err(|error| ExitReason::new("settings: tables", error))
}

/// What the database quotes names with.
pub(crate) fn quote(settings: &Settings) -> char {
    if is_at(settings, "mysql") || is_at(settings, "mariadb") { '`' } else { '"' }
}

/// Whether the database's URL begins like this.
fn is_at(settings: &Settings, scheme: &str) -> bool {
    settings.database_url.as_ref().is_some_and(|url| url.expose_secret().starts_with(scheme))
}

async fn unchecked(
    settings: &Settings,
    connections: NonZeroU32,
) -> Result<SeaOrmStore, ExitReason> {
    SeaOrmStore::new(connect(settings, connections).await?, tables(settings)?).map_err(unfit)
}

/// The cause is a whole sentence for the operator.
fn unusable(error: StoreError) -> ExitReason {
    match error.source() {
        Some(cause) => ExitReason::plain(cause.to_string()),
        None => ExitReason::new("the database cannot be used", error),
    }
}

/// The cause says more than the kind of error before it, except where that says what to do.
fn unfit(error: StoreError) -> ExitReason {
    const UNFIT: &str = "the outbox cannot be used";
    match error.source() {
        Some(cause) if error.kind() != StoreErrorKind::SchemaMissing => {
            ExitReason::plain(format!("{UNFIT}: {cause}"))
        }
        _ => ExitReason::new(UNFIT, error),
    }
}
