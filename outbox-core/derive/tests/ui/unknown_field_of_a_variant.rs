use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
#[outbox(topic = "orders")]
enum OrderEvent {
    #[outbox(type = "orders.repriced", key = order_idd)]
    Repriced { order_id: i32, total: i64 },
    #[outbox(type = "orders.cancelled", key = 1)]
    Cancelled(i32),
}

fn main() {}
