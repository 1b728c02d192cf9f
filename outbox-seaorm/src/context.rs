//! The ambient context of the work that stages.

use std::future::Future;

use outbox_core::Context;

tokio::task_local! {
    pub(crate) static AMBIENT: Context;
}

/// Makes a [`Context`] the ambient one for a future.
///
/// ```
/// use outbox_seaorm::{Context, ScopeContext, current_context};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let request = Context { correlation_id: Some("request-17".into()), ..Context::default() };
/// request
///     .scope(async {
///         // Every event that is staged here belongs to the request.
///         assert_eq!(current_context().correlation_id.as_deref(), Some("request-17"));
///     })
///     .await;
/// # }
/// ```
pub trait ScopeContext: Sized {
    /// Runs the future; every event staged in it inherits from this context.
    ///
    /// An inner scope replaces an outer one whole. `tokio::spawn` leaves the scope behind: take
    /// [`current_context`] along and open it again in the spawned future.
    fn scope<F: Future>(self, future: F) -> impl Future<Output = F::Output> + use<Self, F>;
}

impl ScopeContext for Context {
    fn scope<F: Future>(self, future: F) -> impl Future<Output = F::Output> + use<F> {
        AMBIENT.scope(self, future)
    }
}

/// The ambient context; outside of every scope an empty one.
pub fn current_context() -> Context {
    AMBIENT.try_with(Clone::clone).unwrap_or_default()
}
