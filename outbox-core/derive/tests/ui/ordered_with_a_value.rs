use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "orders.order_placed", topic = "orders", key = order_id, ordered = order_id)]
struct OrderPlaced {
    order_id: i32,
}

fn main() {}
