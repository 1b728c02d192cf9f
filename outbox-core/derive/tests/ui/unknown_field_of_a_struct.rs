use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "orders.order_placed", topic = "orders", key = order_idd, tenant = tenent, subject = orderid)]
struct OrderPlaced {
    order_id: i32,
    tenant: String,
}

fn main() {}
