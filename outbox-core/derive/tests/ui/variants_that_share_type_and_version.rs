use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
#[outbox(topic = "orders", version = 2)]
enum OrderEvent {
    #[outbox(type = "orders.changed")]
    Repriced { total: i64 },
    #[outbox(type = "orders.changed", version = 1)]
    RepricedOnce { total: i32 },
    #[outbox(type = "orders.changed", version = 2)]
    Moved { address: String },
}

fn main() {}
