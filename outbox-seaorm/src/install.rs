//! How settings reach the hooks, which take no argument for them.

use std::future::Future;
use std::sync::{Arc, OnceLock};

use crate::error::OutboxError;
use crate::settings::OutboxSettings;

static INSTALLED: OnceLock<Arc<OutboxSettings>> = OnceLock::new();

tokio::task_local! {
    static SCOPED: Arc<OutboxSettings>;
}

impl OutboxSettings {
    /// Makes these the settings of the process. Once, at start.
    ///
    /// ```
    /// use outbox_seaorm::{OutboxError, OutboxSettings};
    ///
    /// OutboxSettings::new("https://shop.example/orders").install()?;
    ///
    /// // Again with the same values is harmless, with others it is refused.
    /// OutboxSettings::new("https://shop.example/orders").install()?;
    /// let second = OutboxSettings::new("https://shop.example/invoices").install();
    /// assert!(matches!(second, Err(OutboxError::AlreadyInstalled)));
    /// # Ok::<(), OutboxError>(())
    /// ```
    ///
    /// # Errors
    /// [`OutboxError::Settings`] if the source is no URI reference,
    /// [`OutboxError::AlreadyInstalled`] if others are installed.
    pub fn install(self) -> Result<(), OutboxError> {
        self.source()?;
        let settings = Arc::new(self);
        if INSTALLED.get_or_init(|| Arc::clone(&settings)) == &settings {
            Ok(())
        } else {
            Err(OutboxError::AlreadyInstalled)
        }
    }
}

/// Runs a future under other settings than the installed ones: for a tenant, a second outbox, a
/// test.
///
/// They hold for what the future itself awaits. `tokio::spawn` leaves them behind: wrap the spawned
/// future as well.
pub fn scope<F: Future>(
    settings: OutboxSettings,
    future: F,
) -> impl Future<Output = F::Output> + use<F> {
    SCOPED.scope(Arc::new(settings), future)
}

/// The settings in force here.
pub(crate) fn current() -> Result<Arc<OutboxSettings>, OutboxError> {
    let scoped = SCOPED.try_with(Arc::clone).ok();
    let settings = scoped.or_else(|| INSTALLED.get().cloned()).ok_or(OutboxError::NotInstalled)?;
    settings.source()?;
    Ok(settings)
}
