//! What other systems hear about orders.

use outbox_seaorm::OutboxEvent;
use serde::Serialize;

/// The wire name is written out, so renaming the Rust type changes nothing for consumers. `ordered`:
/// all events with one key are sent one at a time, in the order of the writes.
#[derive(Serialize, OutboxEvent)]
#[outbox(type = "orders.order_placed", version = 1, topic = "orders", key = order_id, ordered)]
pub(crate) struct OrderPlaced {
    pub order_id: i32,
    pub sku: String,
    pub quantity: i32,
    pub total: i64,
}

#[derive(Serialize, OutboxEvent)]
#[serde(tag = "kind")]
#[outbox(topic = "orders", key = order_id, ordered)]
pub(crate) enum OrderEvent {
    #[outbox(type = "orders.repriced", version = 2)]
    Repriced { order_id: i32, total: i64 },
    #[outbox(type = "orders.cancelled")]
    Cancelled { order_id: i32 },
}
