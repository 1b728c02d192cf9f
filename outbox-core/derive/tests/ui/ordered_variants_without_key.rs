use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
#[outbox(topic = "orders", ordered)]
enum OrderEvent {
    #[outbox(type = "orders.repriced", key = order_id)]
    Repriced { order_id: i32, total: i64 },
    #[outbox(type = "orders.cancelled")]
    Cancelled,
    #[outbox(type = "orders.returned", ordered)]
    Returned,
    #[outbox(type = "orders.purged", ordered = false)]
    Purged,
}

fn main() {}
