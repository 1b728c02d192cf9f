use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
enum OrderEvent {
    #[outbox(type = "orders.repriced", topic = "orders")]
    Repriced { total: i64 },
    #[outbox(type = "orders.cancelled")]
    Cancelled,
}

fn main() {}
