//! Logs on standard error.

use tracing_subscriber::EnvFilter;

use crate::settings::{Log, LogFormat};
use crate::trouble::Trouble;

/// Starts logging as the settings say.
pub(crate) fn start(log: &Log) -> Result<(), Trouble> {
    let filter = EnvFilter::try_new(&log.filter)
        .map_err(|error| Trouble::new("settings: log.filter is no filter", error))?;
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match log.format {
        LogFormat::Json => logs.json().init(),
        LogFormat::Text => logs.with_ansi(false).init(),
    }
    Ok(())
}
