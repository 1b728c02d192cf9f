//! A publisher for trying things out.

use std::num::NonZeroUsize;

use async_trait::async_trait;
use outbox_core::{BatchLimit, OutboxMessage, PublishOutcomes, Publisher, Receipt};

const BATCH: NonZeroUsize = NonZeroUsize::MIN.saturating_add(99);

/// Logs each message and says that it was published.
///
/// It names id, type and topic, never payload or headers. Nothing leaves the process, yet the
/// records count as published: it is for trying things out and nothing else.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogPublisher;

#[async_trait]
impl Publisher for LogPublisher {
    fn batch_limit(&self) -> BatchLimit {
        BatchLimit(BATCH)
    }

    async fn publish(&self, messages: &[OutboxMessage]) -> PublishOutcomes {
        messages.iter().map(|message| Ok(log(message))).collect()
    }
}

fn log(message: &OutboxMessage) -> Receipt {
    tracing::info!(
        id = %message.id,
        event_type = &*message.event_type,
        topic = &*message.topic,
        "logged in place of publishing"
    );
    Receipt { broker_id: None }
}
