use outbox_core::OutboxEvent;

#[derive(OutboxEvent)]
#[outbox(type = "orders.order_placed", topic = "orders")]
struct OrderPlaced;

fn main() {}
