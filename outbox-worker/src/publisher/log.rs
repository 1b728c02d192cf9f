//! A publisher for trying things out.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use outbox_core::{BatchLimit, OutboxMessage, PublishOutcomes, Publisher, Receipt};

const BATCH: NonZeroUsize = NonZeroUsize::MIN.saturating_add(99);

/// Logs each message and says that it was published.
///
/// It names id, type and topic, never payload or headers. Nothing leaves the process, yet the
/// records count as published: it is for trying things out and nothing else, and warns of that
/// once.
#[derive(Debug, Default)]
pub struct LogPublisher {
    warned: AtomicBool,
}

impl LogPublisher {
    /// One that has not warned yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn warn_once(&self) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "messages are logged and counted as published, but they are not sent anywhere"
            );
        }
    }
}

#[async_trait]
impl Publisher for LogPublisher {
    fn batch_limit(&self) -> BatchLimit {
        BatchLimit(BATCH)
    }

    async fn publish(&self, messages: &[OutboxMessage]) -> PublishOutcomes {
        self.warn_once();
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
