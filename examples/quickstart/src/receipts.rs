//! What a real endpoint accepted, as far as the publisher knows.

use async_trait::async_trait;
use outbox_core::{BatchLimit, OutboxMessage, PublishOutcomes, Publisher};
use outbox_worker::publisher::sns::SnsPublisher;
use tokio::sync::watch;

use crate::arrivals::Arrival;

/// The messages that SNS gave a receipt for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Receipts(watch::Sender<Vec<Arrival>>);

impl Receipts {
    pub(crate) fn all(&self) -> Vec<Arrival> {
        self.0.borrow().clone()
    }

    pub(crate) async fn at_least(&self, messages: usize) -> Vec<Arrival> {
        let mut changes = self.0.subscribe();
        // An error would mean that the sender is gone, and `self` holds it.
        let _ = changes.wait_for(|all| all.len() >= messages).await;
        self.all()
    }
}

/// A publisher that keeps the receipts of another.
#[derive(Debug)]
pub(crate) struct Receipted {
    sns: SnsPublisher,
    receipts: Receipts,
}

impl Receipted {
    pub(crate) fn new(sns: SnsPublisher, receipts: Receipts) -> Self {
        Self { sns, receipts }
    }
}

#[async_trait]
impl Publisher for Receipted {
    fn batch_limit(&self) -> BatchLimit {
        self.sns.batch_limit()
    }

    async fn publish(&self, messages: &[OutboxMessage]) -> PublishOutcomes {
        let outcomes = self.sns.publish(messages).await;
        let accepted = messages.iter().zip(&outcomes).filter(|(_, outcome)| outcome.is_ok());
        self.receipts.0.send_modify(|all| all.extend(accepted.map(|(it, _)| Arrival::from(it))));
        outcomes
    }
}
