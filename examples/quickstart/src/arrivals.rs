//! What arrived at SNS.

use std::fmt;

use outbox_core::OutboxMessage;
use outbox_testing::sns::Accepted;
use serde::Deserialize;

/// One accepted message, read as a consumer would read it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Arrival {
    pub(crate) id: String,
    #[serde(rename = "type")]
    event_type: String,
    #[serde(rename = "partitionkey")]
    order: String,
    #[serde(rename = "correlationid")]
    pub(crate) correlation_id: String,
}

impl From<&Accepted> for Arrival {
    /// A message that is no event is not ours; it is shown empty and counts for nothing.
    fn from(accepted: &Accepted) -> Self {
        serde_json::from_str(&accepted.message).unwrap_or_default()
    }
}

impl From<&OutboxMessage> for Arrival {
    fn from(message: &OutboxMessage) -> Self {
        Self {
            id: message.id.to_string(),
            event_type: message.event_type.to_string(),
            order: message.partition_key.clone().unwrap_or_default(),
            correlation_id: message.correlation_id.clone().unwrap_or_default(),
        }
    }
}

impl fmt::Display for Arrival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The ids of one moment begin alike and differ at their end.
        let end = self.id.rsplit('-').next().unwrap_or_default();
        let Self { event_type, order, correlation_id, .. } = self;
        write!(f, "  {event_type:<19}  {end:<12}  {order:>5}  {correlation_id}")
    }
}
