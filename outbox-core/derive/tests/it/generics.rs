//! Events with parameters.

use std::fmt::Display;

use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "orders.noted", topic = "orders", key = order_id, subject = note)]
struct OrderNoted<'a> {
    order_id: &'a str,
    note: Option<&'a str>,
}

#[test]
fn an_event_may_borrow() {
    let order_id = String::from("order-7");

    let event = OrderNoted { order_id: &order_id, note: Some("late") };

    assert_eq!(event.key().as_deref(), Some("order-7"));
    assert_eq!(event.subject().as_deref(), Some("late"));
}

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "things.changed", topic = "things", key = id, ordered, subject = Into::<u64>::into(self.thing))]
struct Changed<I: Display + Serialize, T = u32, const N: usize = 1>
where
    T: Serialize + Copy + Into<u64>,
{
    id: I,
    thing: T,
}

#[test]
fn an_event_may_be_generic() {
    let event = Changed::<&str, u32, 3> { id: "thing-7", thing: 9 };

    assert_eq!(event.key().as_deref(), Some("thing-7"));
    assert_eq!(event.subject().as_deref(), Some("9"));
}

#[derive(Serialize, OutboxEvent)]
#[outbox(topic = "things")]
enum ThingEvent<'a, T: Serialize + Display> {
    #[outbox(type = "things.made", key = 0)]
    Made(&'a T),
    #[outbox(type = "things.gone", key = last)]
    Gone { last: Option<T> },
}

#[test]
fn an_enum_may_be_generic() {
    let made = ThingEvent::Made(&7);
    let gone = ThingEvent::Gone { last: Some(8) };
    let lost: ThingEvent<'_, i32> = ThingEvent::Gone { last: None };

    assert_eq!(made.key().as_deref(), Some("7"));
    assert_eq!(gone.key().as_deref(), Some("8"));
    assert_eq!(lost.key(), None);
}
