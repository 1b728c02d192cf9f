use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
#[outbox(type, topic, key, tenant, subject)]
struct OrderPlaced {
    order_id: i32,
}

fn main() {}
