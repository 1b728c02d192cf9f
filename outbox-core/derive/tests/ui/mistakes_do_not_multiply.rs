use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "orders order placed", topic = "orders")]
struct OrderPlaced<'a, T>
where
    T: Serialize,
{
    order_id: &'a str,
    total: T,
}

#[derive(Serialize, OutboxEvent)]
#[outbox(topic = "orders")]
enum OrderEvent {
    #[outbox(type = "orders.cancelled", key = order)]
    Cancelled { order_id: i32 },
}

fn stage<E: OutboxEvent>(event: &E) -> &'static str {
    event.topic()
}

fn main() {
    stage(&OrderPlaced { order_id: "7", total: 80 });
    stage(&OrderEvent::Cancelled { order_id: 7 });
}
