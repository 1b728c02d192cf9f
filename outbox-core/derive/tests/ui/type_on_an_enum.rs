use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "orders.changed", topic = "orders")]
enum OrderEvent {
    Repriced { total: i64 },
    Cancelled,
}

fn main() {}
