use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
#[outbox(topic = "orders")]
enum OrderEvent {
    Repriced { total: i64 },
    #[outbox(type = "orders.cancelled")]
    Cancelled,
    Returned(i32),
}

fn main() {}
