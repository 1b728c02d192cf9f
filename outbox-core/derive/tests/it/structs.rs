//! Events that are structs.

use std::fmt;

use outbox_core::OutboxEvent;
use serde::Serialize;

#[derive(Serialize, OutboxEvent)]
#[outbox(
    type = "orders.order_placed",
    version = 3,
    topic = "orders",
    key = order_id,
    ordered,
    tenant = shop,
    subject = format!("orders/{}", self.order_id)
)]
struct OrderPlaced {
    order_id: i32,
    shop: String,
}

fn order_placed() -> OrderPlaced {
    OrderPlaced { order_id: 7, shop: "north".into() }
}

#[test]
fn every_attribute_reaches_the_event() {
    let event = order_placed();

    assert_eq!(event.event_type(), "orders.order_placed");
    assert_eq!(event.event_version(), 3);
    assert_eq!(event.topic(), "orders");
    assert_eq!(event.key().as_deref(), Some("7"));
    assert!(event.ordered());
    assert_eq!(event.tenant().as_deref(), Some("north"));
    assert_eq!(event.subject().as_deref(), Some("orders/7"));
}

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "reports.requested", topic = "reports")]
struct ReportRequested;

#[test]
fn what_is_not_written_is_off() {
    let event = ReportRequested;

    assert_eq!(event.event_version(), 1);
    assert_eq!(event.key(), None);
    assert!(!event.ordered());
    assert_eq!(event.tenant(), None);
    assert_eq!(event.subject(), None);
}

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "stock.moved", topic = "stock", key = 1, subject = self.0)]
struct StockMoved(i64, String);

#[test]
fn a_tuple_field_is_named_by_its_number() {
    let event = StockMoved(-2, "sku-1".into());

    assert_eq!(event.key().as_deref(), Some("sku-1"));
    assert_eq!(event.subject().as_deref(), Some("-2"));
}

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "users.renamed", topic = "users", key = user, tenant = 0_u8, subject = "users")]
struct UserRenamed {
    user: Option<u64>,
}

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "users.moved", topic = "users", tenant = 0, subject = 1)]
struct UserMoved<'a>(std::option::Option<&'a str>, Option<String>);

#[test]
fn an_optional_field_that_is_none_gives_none() {
    let event = UserRenamed { user: None };
    let moved = UserMoved(None, None);

    assert_eq!(event.key(), None);
    assert_eq!(moved.tenant(), None);
    assert_eq!(moved.subject(), None);
}

#[test]
fn an_optional_field_that_is_some_gives_its_text() {
    let event = UserRenamed { user: Some(7) };
    let moved = UserMoved(Some("north"), Some("users/7".into()));

    assert_eq!(event.key().as_deref(), Some("7"));
    assert_eq!(moved.tenant().as_deref(), Some("north"));
    assert_eq!(moved.subject().as_deref(), Some("users/7"));
}

#[test]
fn a_literal_is_its_own_text() {
    let event = UserRenamed { user: None };

    assert_eq!(event.tenant().as_deref(), Some("0"));
    assert_eq!(event.subject().as_deref(), Some("users"));
}

const SHARD: &str = "shard-1";

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "shards.filled", topic = "shards", key = self::SHARD)]
#[outbox(subject = self.left.max(self.right) - 1)]
struct ShardFilled {
    left: i32,
    right: i32,
}

#[test]
fn an_expression_is_shown_as_a_whole() {
    let event = ShardFilled { left: 2, right: 5 };

    assert_eq!(event.key().as_deref(), Some("shard-1"));
    assert_eq!(event.subject().as_deref(), Some("4"));
}

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "notes.written", topic = "notes", subject = self)]
struct NoteWritten(i32);

impl fmt::Display for NoteWritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "note {}", self.0)
    }
}

#[test]
fn an_event_may_show_itself() {
    let event = NoteWritten(7);

    assert_eq!(event.subject().as_deref(), Some("note 7"));
}

#[derive(Serialize, OutboxEvent)]
#[outbox(type = "things.changed", topic = "things", key = r#type)]
struct ThingChanged {
    r#type: char,
}

#[test]
fn a_field_may_have_a_raw_name() {
    let event = ThingChanged { r#type: 'x' };

    assert_eq!(event.key().as_deref(), Some("x"));
}

macro_rules! event {
    ($name:ident, $wire:literal, $version:literal, $topic:expr, $key:ident, $subject:expr) => {
        #[derive(Serialize, OutboxEvent)]
        #[outbox(type = $wire, version = $version, topic = $topic, key = $key, subject = $subject)]
        struct $name {
            $key: i32,
        }
    };
}

event!(Declared, "macros.declared", 2, "macros", id, "subject");

#[test]
fn attributes_may_come_through_a_declarative_macro() {
    let event = Declared { id: 7 };

    assert_eq!(event.event_type(), "macros.declared");
    assert_eq!(event.event_version(), 2);
    assert_eq!(event.topic(), "macros");
    assert_eq!(event.key().as_deref(), Some("7"));
    assert_eq!(event.subject().as_deref(), Some("subject"));
}

// The longest names, with every mark: 128 bytes and 256 bytes.
#[derive(Serialize, OutboxEvent)]
#[outbox(
    type = "Az09._-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    version = 65535,
    topic = "Az09._-:/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
)]
struct Longest;

#[test]
fn the_limits_themselves_are_legal() {
    let event = Longest;

    assert_eq!(event.event_type().len(), 128);
    assert_eq!(event.event_version(), u16::MAX);
    assert_eq!(event.topic().len(), 256);
}
