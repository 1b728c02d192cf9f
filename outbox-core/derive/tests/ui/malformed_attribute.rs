use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "orders.order_placed", topic = "orders", key(order_id))]
struct OrderPlaced {
    order_id: i32,
}

#[derive(Serialize, OutboxEvent)]
#[outbox]
struct OrderRepriced;

#[derive(Serialize, OutboxEvent)]
#[outbox = "orders.cancelled"]
struct OrderCancelled;

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "orders.returned", topic = "orders", key = )]
struct OrderReturned {
    order_id: i32,
}

fn main() {}
