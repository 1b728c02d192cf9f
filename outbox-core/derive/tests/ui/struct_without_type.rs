use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
#[outbox(topic = "orders")]
struct OrderPlaced {
    order_id: i32,
}

fn main() {}
