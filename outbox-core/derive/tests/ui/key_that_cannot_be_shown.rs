use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize)]
struct OrderId(i32);

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "orders.order_placed", topic = "orders", key = order_id)]
struct OrderPlaced {
    order_id: OrderId,
}

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "orders.order_noted", topic = "orders", subject = self.note)]
struct OrderNoted {
    note: Option<String>,
}

fn main() {}
