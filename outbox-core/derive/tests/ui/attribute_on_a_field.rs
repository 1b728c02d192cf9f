use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "orders.order_placed", topic = "orders")]
struct OrderPlaced {
    #[outbox(key)]
    order_id: i32,
}

#[derive(Serialize, OutboxEvent)]
#[outbox(topic = "orders")]
enum OrderEvent {
    #[outbox(type = "orders.cancelled")]
    Cancelled(#[outbox(key)] i32),
}

fn main() {}
