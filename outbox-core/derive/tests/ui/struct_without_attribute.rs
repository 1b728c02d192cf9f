use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
struct OrderPlaced {
    order_id: i32,
}

fn main() {}
