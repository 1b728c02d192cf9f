//! Makes or updates the outbox tables.

use std::num::NonZeroU32;

use crate::database;
use crate::exit_reason::ExitReason;
use crate::settings::Settings;

/// Runs the migrations that are missing, in each outbox.
pub(crate) async fn migrate(settings: &Settings) -> Result<(), ExitReason> {
    for (name, settings) in settings.outboxes()? {
        make_tables(&settings).await.map_err(|reason| reason.of(name.as_deref()))?;
        let whose = name.map_or_else(String::new, |name| format!(" of {name}"));
        println!("outbox tables{whose} are up to date");
    }
    Ok(())
}

async fn make_tables(settings: &Settings) -> Result<(), ExitReason> {
    let db = database::connect(settings, NonZeroU32::MIN).await?;
    outbox_migration::migrate_with(&db, &database::tables(settings)?)
        .await
        .map_err(|error| ExitReason::new("the outbox tables cannot be made", error))
}
