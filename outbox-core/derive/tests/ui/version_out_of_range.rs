use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
#[outbox(topic = "orders")]
enum OrderEvent {
    #[outbox(type = "orders.placed", version = 0)]
    Placed,
    #[outbox(type = "orders.repriced", version = 65536)]
    Repriced,
    #[outbox(type = "orders.returned", version = -1)]
    Returned,
    #[outbox(type = "orders.cancelled", version = "1")]
    Cancelled,
    #[outbox(type = "orders.archived", version)]
    Archived,
}

fn main() {}
