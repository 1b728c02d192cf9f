//! Logs on standard error.

use tracing_subscriber::EnvFilter;

use crate::exit_reason::ExitReason;
use crate::settings::{Log, LogFormat};

/// Starts logging as the settings say.
pub(crate) fn start(log: &Log) -> Result<(), ExitReason> {
    let filter = EnvFilter::try_new(&log.filter)
        .map_err(|error| ExitReason::new("settings: log.filter is no filter", error))?;
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match log.format {
        LogFormat::Json => logs.json().init(),
        LogFormat::Text => logs.with_ansi(false).init(),
    }
    Ok(())
}
