use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "orders placed", version = 0, topic = "", topik = "orders")]
struct OrderPlaced {
    order_id: i32,
}

#[derive(Serialize, OutboxEvent)]
#[outbox(topic = "orders")]
enum OrderEvent {
    Repriced { order_id: i32 },
    #[outbox(type = "orders.cancelled", key = id, subject = name, ordered)]
    Cancelled { order_id: i32 },
    #[outbox(type = "orders.returned", ordered)]
    Returned,
}

fn main() {}
