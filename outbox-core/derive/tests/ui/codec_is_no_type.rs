use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "orders.order_placed", topic = "orders", codec = "protobuf")]
struct OrderPlaced;

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "orders.returned", topic = "orders", codec)]
struct OrderReturned;

fn main() {}
