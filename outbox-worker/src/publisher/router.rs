//! A publisher that chooses among publishers.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future;
use outbox_core::{
    BatchLimit, Failure, FailureKind, OutboxMessage, PublishOutcomes, Publisher, Receipt,
};

use super::one_verdict_each;

/// Sends each message through the publisher that its transport names.
///
/// A message without a transport goes through the default one. A transport that has no route fails
/// with [`FailureKind::Destination`]: the record waits, uncounted, for a worker that has it.
#[derive(Clone, Debug)]
pub struct Router {
    default: Arc<dyn Publisher>,
    routes: BTreeMap<String, Arc<dyn Publisher>>,
}

impl Router {
    /// Sends everything through this publisher until routes are added.
    pub fn new(default: Arc<dyn Publisher>) -> Self {
        Self { default, routes: BTreeMap::new() }
    }

    /// Sends messages of this transport through this publisher.
    pub fn with_route(
        mut self,
        transport: impl Into<String>,
        publisher: Arc<dyn Publisher>,
    ) -> Self {
        self.routes.insert(transport.into(), publisher);
        self
    }

    /// Whether a message of this transport has a publisher.
    pub fn has_route(&self, transport: Option<&str>) -> bool {
        self.route(transport).is_some()
    }

    fn route(&self, transport: Option<&str>) -> Option<&dyn Publisher> {
        match transport {
            None => Some(&*self.default),
            Some(name) => self.routes.get(name).map(|publisher| &**publisher),
        }
    }

    async fn send(
        &self,
        transport: Option<&str>,
        messages: &[OutboxMessage],
    ) -> Vec<Result<Receipt, Failure>> {
        let Some(publisher) = self.route(transport) else {
            let name = transport.unwrap_or_default();
            let summary = format!("no publisher is configured for transport `{name}`");
            return vec![Err(Failure::new(FailureKind::Destination, &summary)); messages.len()];
        };
        one_verdict_each(publisher.publish(messages).await, messages.len())
    }
}

#[async_trait]
impl Publisher for Router {
    /// That of the default publisher.
    fn system(&self) -> &'static str {
        self.default.system()
    }

    /// Those of the default publisher, which takes all that names no transport.
    fn topics(&self) -> Vec<String> {
        self.default.topics()
    }

    /// The smallest limit of all publishers, because a call may go to any of them.
    fn batch_limit(&self) -> BatchLimit {
        let limits = self.routes.values().map(|publisher| publisher.batch_limit().0);
        BatchLimit(limits.fold(self.default.batch_limit().0, Ord::min))
    }

    async fn publish(&self, messages: &[OutboxMessage]) -> PublishOutcomes {
        // Nearly always one run, so that the messages need no copy.
        let runs = messages.chunk_by(|one, next| one.transport == next.transport);
        let sends = runs.map(|run| self.send(run[0].transport.as_deref(), run));
        future::join_all(sends).await.into_iter().flatten().collect()
    }
}
