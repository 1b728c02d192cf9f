use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
#[outbox(topic = "orders", key = order_idd)]
enum OrderEvent {
    #[outbox(type = "orders.repriced")]
    Repriced { order_id: i32, total: i64 },
    #[outbox(type = "orders.cancelled")]
    Cancelled { order_id: i32 },
}

fn main() {}
