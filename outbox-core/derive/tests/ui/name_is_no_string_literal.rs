use outbox_core::OutboxEvent;
use serde::Serialize;

const TOPIC: &str = "orders";

#[derive(Serialize, OutboxEvent)]
#[outbox(type = OrderPlaced, topic = TOPIC)]
struct OrderPlaced {
    order_id: i32,
}

fn main() {}
