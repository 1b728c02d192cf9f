use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
#[outbox(topic = "orders", key = order_id)]
enum OrderEvent {
    #[outbox(type = "orders.repriced")]
    Repriced { order_id: i32, total: i64 },
    #[outbox(type = "orders.cancelled")]
    Cancelled { id: i32 },
    #[outbox(type = "orders.purged")]
    Purged,
}

fn main() {}
