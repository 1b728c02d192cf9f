//! An end for waits.

use std::time::Duration;

/// Fails instead of waiting for ever for something that does not happen.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("must happen soon")
}
