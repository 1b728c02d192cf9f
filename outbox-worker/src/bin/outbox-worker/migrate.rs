//! Makes or updates the outbox tables.

use std::num::NonZeroU32;

use crate::database;
use crate::exit_reason::ExitReason;
use crate::settings::Settings;

/// Runs the migrations that are missing.
pub(crate) async fn migrate(settings: &Settings) -> Result<(), ExitReason> {
    let db = database::connect(settings, NonZeroU32::MIN).await?;
    outbox_migration::migrate_with(&db, &database::tables(settings)?)
        .await
        .map_err(|error| ExitReason::new("the outbox tables cannot be made", error))?;
    println!("outbox tables are up to date");
    Ok(())
}
