use outbox_core::{BoxError, Codec, OutboxEvent};
use serde::Serialize;

struct Protobuf;

impl Codec<OrderCancelled> for Protobuf {
    const CONTENT_TYPE: &'static str = "application/x-protobuf";

    fn encode(_: &OrderCancelled) -> Result<Vec<u8>, BoxError> {
        Ok(Vec::new())
    }
}

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "orders.order_cancelled", topic = "orders", codec = Protobuf)]
struct OrderCancelled;

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "orders.order_placed", topic = "orders", codec = Protobuf)]
struct OrderPlaced;

fn main() {}
