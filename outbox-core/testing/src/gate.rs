//! Points at which a call waits for the test.

use std::sync::Arc;

use tokio::sync::watch;

/// Holds calls back until the test lets them go.
///
/// Dropping it lets them go too, so that a test that fails also ends.
#[derive(Debug)]
#[must_use = "dropping a gate opens it"]
pub struct Gate {
    door: Arc<Door>,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self { door: Arc::default() }
    }

    pub(crate) fn door(&self) -> Arc<Door> {
        Arc::clone(&self.door)
    }

    /// Returns once a call has arrived here.
    pub async fn arrived(&self) {
        self.arrived_at_least(1).await;
    }

    /// Returns once so many calls have arrived here.
    pub async fn arrived_at_least(&self, calls: usize) {
        until(&self.door.arrived, |arrived| *arrived >= calls).await;
    }

    /// Lets those that wait go, and those that come later.
    pub fn release(self) {
        drop(self);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.door.open.send_replace(true);
    }
}

/// The side of a gate that the call sees.
#[derive(Debug, Default)]
pub(crate) struct Door {
    arrived: watch::Sender<usize>,
    open: watch::Sender<bool>,
}

impl Door {
    pub(crate) async fn pass(&self) {
        self.arrived.send_modify(|arrived| *arrived += 1);
        until(&self.open, |open| *open).await;
    }
}

/// Waits for a value that meets the condition.
pub(crate) async fn until<T>(value: &watch::Sender<T>, condition: impl FnMut(&T) -> bool) {
    // The sender is borrowed, so the channel stays open and the wait ends only by the condition.
    _ = value.subscribe().wait_for(condition).await;
}
