//! The way to a broker.

use std::fmt::Debug;
use std::num::NonZeroUsize;

use async_trait::async_trait;

use crate::failure::Failure;
use crate::message::OutboxMessage;

/// The broker's receipt for one message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    /// Identity that the broker gave it, another at each send.
    pub broker_id: Option<String>,
}

/// One verdict per message, in the order of the messages.
pub type PublishOutcomes = Vec<Result<Receipt, Failure>>;

/// How many messages a publisher takes in one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimit(pub NonZeroUsize);

/// Sends messages to a broker: one attempt, no retry, no order.
///
/// The error carries who is at fault; the dispatcher never guesses. All messages of one call go to
/// the same topic, and no two of them share an ordering key. A dropped call counts as
/// [`Ambiguous`](crate::FailureKind::Ambiguous) for every message in it.
#[async_trait]
pub trait Publisher: Debug + Send + Sync {
    /// How many messages one call may carry.
    fn batch_limit(&self) -> BatchLimit;

    /// The messaging system as traces name it: `messaging.system` of the OpenTelemetry conventions.
    fn system(&self) -> &'static str {
        "outbox"
    }

    /// Topics that it can send to; empty means every topic.
    ///
    /// Workers tell each other, so that records of a topic that one lacks reach one that has it.
    fn topics(&self) -> Vec<String> {
        Vec::new()
    }

    /// Sends the messages and says for each what became of it.
    async fn publish(&self, messages: &[OutboxMessage]) -> PublishOutcomes;
}

const fn _object_safe(_: &dyn Publisher) {}
