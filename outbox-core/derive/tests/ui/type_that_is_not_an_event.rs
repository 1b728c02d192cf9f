use outbox_core::{EventExt, OutboxEvent};
use serde::Serialize;

#[derive(Serialize)]
struct OrderPlaced;

fn stage<E: OutboxEvent>(_: E) {}

fn main() {
    stage(OrderPlaced);
    let _ = OrderPlaced.with_header("priority", "low");
}
