use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
#[outbox(topic = "orders", ordered)]
enum OrderEvent {
    #[outbox(type = "orders placed", key = order_id)]
    Placed { order_id: i32 },
    Repriced { order_id: i32 },
    #[outbox(type = "orders.cancelled", key = id)]
    Cancelled { order_id: i32 },
    #[outbox(type = "orders.moved", key = order_id, version = 0)]
    Moved { order_id: i32 },
    #[outbox(type = "orders.returned", key = order_id)]
    Returned { order_id: i32 },
    #[outbox(type = "orders.returned", key = order_id)]
    ReturnedInPart { order_id: i32 },
    #[outbox(type = "orders.archived")]
    Archived {
        #[outbox(key)]
        order_id: i32,
    },
}

fn main() {}
