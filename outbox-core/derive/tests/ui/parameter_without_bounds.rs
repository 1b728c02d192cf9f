use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "things.changed", topic = "things", key = id)]
struct Changed<'a, T> {
    id: &'a str,
    thing: T,
}

fn main() {}
