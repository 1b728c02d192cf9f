use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
#[outbox(topic = "orders", ordered)]
enum OrderEvent {
    #[outbox(type = "orders.repriced")]
    Repriced { total: i64 },
    #[outbox(type = "orders.cancelled")]
    Cancelled,
}

fn main() {}
