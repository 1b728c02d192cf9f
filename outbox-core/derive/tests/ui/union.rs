use outbox_core::OutboxEvent;

#[derive(OutboxEvent)]
#[outbox(type = "orders.order_placed", topic = "orders")]
union OrderPlaced {
    order_id: i32,
    total: u32,
}

fn main() {}
