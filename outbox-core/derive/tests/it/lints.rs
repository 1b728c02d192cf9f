//! An application's own lints hold for what it writes, not for what is generated.

#![deny(warnings, deprecated, clippy::all, clippy::pedantic)]

use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
#[outbox(topic = "orders")]
enum OrderEvent {
    #[deprecated = "stage `Moved`"]
    #[outbox(type = "orders.shifted", key = 1, ordered, subject = _0 + 1)]
    Shifted(u8, #[deprecated = "it is always zero"] u8),
    #[outbox(type = "orders.moved", key = format!("order-{id}"), tenant = id.clone(), ordered = false)]
    Moved { id: String, lane: u8 },
}

#[test]
fn a_deprecated_variant_is_still_an_event() {
    #[expect(deprecated, reason = "the old variant is what this is about")]
    let event = OrderEvent::Shifted(7, 0);

    assert_eq!(event.key().as_deref(), Some("0"));
    assert_eq!(event.subject().as_deref(), Some("8"));
}

#[test]
fn a_field_that_an_expression_leaves_out_is_no_unused_variable() {
    let event = OrderEvent::Moved { id: "7".into(), lane: 2 };

    assert_eq!(event.key().as_deref(), Some("order-7"));
}

#[deprecated = "nobody listens"]
#[derive(Serialize, OutboxEvent)]
#[outbox(type = "orders.touched", topic = "orders", key = self.0.clone(), tenant = 1)]
struct OrderTouched(String, Option<u8>);

#[test]
fn a_deprecated_struct_is_still_an_event() {
    #[expect(deprecated, reason = "the old struct is what this is about")]
    let event = OrderTouched("7".into(), None);

    assert_eq!(event.key().as_deref(), Some("7"));
    assert_eq!(event.tenant(), None);
}
