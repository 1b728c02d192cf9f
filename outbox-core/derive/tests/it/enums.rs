//! Events that are variants of an enum.

use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
#[outbox(topic = "orders", version = 2, key = order_id, ordered, tenant = shop, subject = "order")]
enum OrderEvent {
    #[outbox(type = "orders.repriced")]
    Repriced { order_id: i32, shop: &'static str, total: i64 },
    #[outbox(
        type = "orders.cancelled",
        topic = "cancellations",
        version = 5,
        key = number,
        ordered = false,
        tenant = "all",
        subject = order_id
    )]
    Cancelled { order_id: i32, number: u8 },
}

#[test]
fn a_variant_inherits_what_stands_on_the_enum() {
    let event = OrderEvent::Repriced { order_id: 7, shop: "north", total: 80 };

    assert_eq!(event.event_type(), "orders.repriced");
    assert_eq!(event.event_version(), 2);
    assert_eq!(event.topic(), "orders");
    assert_eq!(event.key().as_deref(), Some("7"));
    assert!(event.ordered());
    assert_eq!(event.tenant().as_deref(), Some("north"));
    assert_eq!(event.subject().as_deref(), Some("order"));
}

#[test]
fn a_variant_overrides_what_stands_on_the_enum() {
    let event = OrderEvent::Cancelled { order_id: 7, number: 9 };

    assert_eq!(event.event_type(), "orders.cancelled");
    assert_eq!(event.event_version(), 5);
    assert_eq!(event.topic(), "cancellations");
    assert_eq!(event.key().as_deref(), Some("9"));
    assert!(!event.ordered());
    assert_eq!(event.tenant().as_deref(), Some("all"));
    assert_eq!(event.subject().as_deref(), Some("7"));
}

#[derive(Serialize, OutboxEvent)]
#[outbox(topic = "stock")]
enum StockEvent {
    #[outbox(type = "stock.moved", key = 1, ordered, subject = format!("{_0}x{_1}"))]
    Moved(i64, String),
    #[outbox(type = "stock.counted", key = sku, subject = count.to_string() + " of " + sku)]
    Counted { sku: String, count: u32, by: Option<u64> },
    #[outbox(type = "stock.checked", tenant = by)]
    Checked { by: Option<u64> },
    #[outbox(type = "stock.closed")]
    Closed,
    #[outbox(type = "stock.opened")]
    Opened(),
}

#[test]
fn a_tuple_variant_has_numbered_fields() {
    let event = StockEvent::Moved(-2, "sku-1".into());

    assert_eq!(event.key().as_deref(), Some("sku-1"));
    assert_eq!(event.subject().as_deref(), Some("-2xsku-1"));
    assert!(event.ordered());
}

#[test]
fn an_expression_finds_the_fields_of_its_variant() {
    let event = StockEvent::Counted { sku: "sku-1".into(), count: 3, by: None };

    assert_eq!(event.key().as_deref(), Some("sku-1"));
    assert_eq!(event.subject().as_deref(), Some("3 of sku-1"));
}

#[test]
fn an_optional_field_of_a_variant_may_be_none() {
    let anonymous = StockEvent::Checked { by: None };
    let signed = StockEvent::Checked { by: Some(4) };

    assert_eq!(anonymous.tenant(), None);
    assert_eq!(signed.tenant().as_deref(), Some("4"));
}

#[test]
fn variants_without_fields_are_events() {
    let events = [StockEvent::Closed, StockEvent::Opened()];

    assert_eq!(events.each_ref().map(OutboxEvent::event_type), ["stock.closed", "stock.opened"]);
    assert_eq!(events.each_ref().map(OutboxEvent::topic), ["stock", "stock"]);
    assert_eq!(events.each_ref().map(OutboxEvent::key), [None, None]);
    assert_eq!(events.each_ref().map(OutboxEvent::ordered), [false, false]);
}

#[derive(Serialize, OutboxEvent)]
#[outbox(topic = "users")]
enum UserEvent {
    #[outbox(type = "users.renamed")]
    RenamedOnce { name: String },
    #[outbox(type = "users.renamed", version = 2)]
    Renamed { given: String, family: String },
}

#[test]
fn one_type_may_stand_in_several_versions() {
    let old = UserEvent::RenamedOnce { name: "ada".into() };
    let new = UserEvent::Renamed { given: "ada".into(), family: "l".into() };

    assert_eq!((old.event_type(), old.event_version()), ("users.renamed", 1));
    assert_eq!((new.event_type(), new.event_version()), ("users.renamed", 2));
}

#[derive(Serialize, OutboxEvent)]
#[outbox(topic = "plans", key = format!("{year}-{month}"), ordered)]
enum PlanEvent {
    #[outbox(type = "plans.opened")]
    Opened { year: u16, month: u8 },
    #[outbox(type = "plans.closed")]
    Closed { month: u8, year: u16 },
}

#[test]
fn an_expression_on_the_enum_serves_every_variant() {
    let opened = PlanEvent::Opened { year: 2026, month: 4 };
    let closed = PlanEvent::Closed { year: 2026, month: 5 };

    assert_eq!(opened.key().as_deref(), Some("2026-4"));
    assert_eq!(closed.key().as_deref(), Some("2026-5"));
}

#[test]
fn an_enum_without_variants_is_an_event_that_never_happens() {
    #[derive(Serialize, OutboxEvent)]
    enum Never {}

    const fn is_event<E: OutboxEvent>() {}

    is_event::<Never>();
}
