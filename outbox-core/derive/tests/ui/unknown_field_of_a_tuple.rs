use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "orders.order_placed", topic = "orders", key = 2)]
struct OrderPlaced(i32, i64);

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "orders.order_placed", topic = "orders", key = order_id)]
struct OrderRepriced(i32, i64);

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "orders.purged", topic = "orders", key = order_id)]
struct OrdersPurged;

fn main() {}
