use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "orders.order_placed", topic = "orders", key = self.order_idd + 1)]
struct OrderPlaced {
    order_id: i32,
}

#[derive(Serialize, OutboxEvent)]
#[outbox(topic = "orders", key = format!("order-{order_idd}"))]
enum OrderEvent {
    #[outbox(type = "orders.cancelled")]
    Cancelled { order_id: i32 },
}

fn main() {}
