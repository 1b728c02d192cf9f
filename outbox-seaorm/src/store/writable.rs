//! Leaving a server that takes no writes any more.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use outbox_core::{StoreError, StoreErrorKind};
use sea_orm::DatabaseConnection;

/// Replaces a pool's connections after a write was refused because the server takes none.
///
/// After a failover a session may be with a server that was the primary, or have begun while the new
/// one was not writable yet. It stays read-only for as long as it lives, and pools keep sessions.
#[derive(Clone)]
pub(super) struct Writable {
    db: DatabaseConnection,
    refused: Arc<AtomicBool>,
}

impl Writable {
    pub(super) fn of(db: &DatabaseConnection) -> Self {
        Self { db: db.clone(), refused: Arc::default() }
    }

    /// Makes a call, on new connections if the last one was refused.
    ///
    /// The connection of the last call is back in the pool only by now.
    pub(super) async fn during<T>(
        &self,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        if self.refused.swap(false, Ordering::Relaxed) {
            #[cfg(any(feature = "mysql", feature = "postgres"))]
            crate::connect::close_idle(&self.db);
        }
        let answer = call.await;
        if matches!(&answer, Err(error) if error.kind() == StoreErrorKind::ReadOnly) {
            self.refused.store(true, Ordering::Relaxed);
        }
        answer
    }
}

/// Without the pool, which may show where it connects to.
impl fmt::Debug for Writable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writable").finish_non_exhaustive()
    }
}
