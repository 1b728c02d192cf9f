use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
#[outbox(topic = "orders")]
enum OrderEvent {
    #[outbox(type = "orders/placed")]
    Placed,
    #[outbox(type = "")]
    Repriced,
    #[outbox(type = "pédido")]
    Returned,
    #[outbox(type = "ttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt")]
    Cancelled,
}

fn main() {}
