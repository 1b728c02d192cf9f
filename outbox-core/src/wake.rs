//! Hearing that something was staged.

use std::fmt::Debug;

use async_trait::async_trait;

/// Tells a dispatcher to look for records before it would by itself.
///
/// A wake-up may come for nothing and may be lost: the dispatcher looks by itself all the same, only
/// later.
#[async_trait]
pub trait WakeSource: Debug + Send + Sync {
    /// Ends once something may have been staged since it last ended.
    ///
    /// The future may be dropped and asked for anew at any time, without a loss.
    async fn woken(&self);
}

const fn _object_safe(_: &dyn WakeSource) {}
