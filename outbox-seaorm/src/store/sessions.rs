//! Leaving sessions that refuse calls for as long as they live.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use outbox_core::{StoreError, StoreErrorKind};
use sea_orm::DatabaseConnection;

/// Replaces a pool's connections after one refused a call for a reason that may be its own.
///
/// After a failover a session may be with a server that was the primary, or have begun while the new
/// one was not writable yet: it stays read-only. A pooler or a changed table leaves a session with
/// prepared statements that are none any more. Either stays so for as long as the session lives, and
/// pools keep sessions.
#[derive(Clone)]
pub(super) struct Sessions {
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    db: DatabaseConnection,
    refused: Arc<AtomicBool>,
}

impl Sessions {
    pub(super) fn of(db: &DatabaseConnection) -> Self {
        #[cfg(not(any(feature = "mysql", feature = "postgres")))]
        let _ = db;
        Self {
            #[cfg(any(feature = "mysql", feature = "postgres"))]
            db: db.clone(),
            refused: Arc::default(),
        }
    }

    /// Makes a call, on new connections if the last one was refused.
    ///
    /// The connection of the last call is back in the pool a moment after it; a call that comes sooner
    /// is refused once more, and the next one closes it.
    pub(super) async fn during<T>(
        &self,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        if self.refused.swap(false, Ordering::Relaxed) {
            #[cfg(any(feature = "mysql", feature = "postgres"))]
            crate::connect::close_idle(&self.db);
        }
        let answer = call.await;
        let kind = answer.as_ref().err().map(StoreError::kind);
        if matches!(kind, Some(StoreErrorKind::ReadOnly | StoreErrorKind::Refused)) {
            self.refused.store(true, Ordering::Relaxed);
        }
        answer
    }
}

/// Without the pool, which may show where it connects to.
impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").finish_non_exhaustive()
    }
}
