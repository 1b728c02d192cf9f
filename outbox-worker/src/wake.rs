//! Wake-ups within one process.

use std::sync::Arc;

use async_trait::async_trait;
use outbox_core::WakeSource;
use tokio::sync::Notify;

/// Wakes a dispatcher that runs in the same process as the application.
///
/// Clones wake the same dispatcher. Calls that come close together are one wake-up, and none waits.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use outbox_core::{OutboxStore, Publisher};
/// # fn build(store: Arc<dyn OutboxStore>, publisher: Arc<dyn Publisher>)
/// #     -> Result<(), outbox_core::SettingsError> {
/// use outbox_worker::{Dispatcher, WakeSignal};
///
/// let signal = WakeSignal::new();
/// let dispatcher =
///     Dispatcher::builder(store, publisher).wake(Arc::new(signal.clone())).build()?;
///
/// // After each commit, anywhere in the application:
/// signal.notify();
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct WakeSignal(Arc<Notify>);

impl WakeSignal {
    /// A signal that nobody has given yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The dispatcher looks for what is committed by now.
    pub fn notify(&self) {
        self.0.notify_one();
    }
}

#[async_trait]
impl WakeSource for WakeSignal {
    async fn woken(&self) {
        self.0.notified().await;
    }
}
