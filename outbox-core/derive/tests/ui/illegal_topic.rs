use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
enum OrderEvent {
    #[outbox(type = "orders.placed", topic = "new orders")]
    Placed,
    #[outbox(type = "orders.repriced", topic = "")]
    Repriced,
    #[outbox(type = "orders.cancelled", topic = "ttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt")]
    Cancelled,
}

fn main() {}
