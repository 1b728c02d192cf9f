use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "orders.order_placed", topik = "orders")]
struct OrderPlaced {
    order_id: i32,
}

fn main() {}
