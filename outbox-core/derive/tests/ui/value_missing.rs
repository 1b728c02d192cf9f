use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
#[outbox(type, topic, key, tenant, subject, codec)]
struct OrderPlaced {
    order_id: i32,
}

fn main() {}
