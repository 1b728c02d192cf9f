//! Events for the tests, with what matters to each test left open.

use outbox_core::{Context, Headers, Json, OutboxEvent, Payload, PayloadError};
use serde::{Serialize, Serializer};

/// An order was placed.
#[derive(Clone, Serialize)]
pub(crate) struct OrderPlaced {
    pub(crate) order_id: i32,
    pub(crate) total: i64,
}

pub(crate) const ORDER_PLACED: OrderPlaced = OrderPlaced { order_id: 7, total: 80 };

impl OutboxEvent for OrderPlaced {
    fn event_type(&self) -> &'static str {
        "orders.order_placed"
    }

    fn event_version(&self) -> u16 {
        3
    }

    fn topic(&self) -> &'static str {
        "orders"
    }

    fn payload(&self) -> Result<Payload, PayloadError> {
        Payload::encode::<Json, _>(self)
    }

    fn key(&self) -> Option<String> {
        Some(self.order_id.to_string())
    }

    fn ordered(&self) -> bool {
        true
    }

    fn subject(&self) -> Option<String> {
        Some(format!("orders/{}", self.order_id))
    }
}

/// An event whose every word is chosen by the test.
#[derive(Clone, Serialize)]
pub(crate) struct Plain {
    #[serde(skip)]
    pub(crate) event_type: &'static str,
    #[serde(skip)]
    pub(crate) topic: &'static str,
    #[serde(skip)]
    pub(crate) key: Option<&'static str>,
    #[serde(skip)]
    pub(crate) ordered: bool,
    #[serde(skip)]
    pub(crate) tenant: Option<&'static str>,
}

pub(crate) const PLAIN: Plain =
    Plain { event_type: "plain", topic: "plain", key: None, ordered: false, tenant: None };

impl OutboxEvent for Plain {
    fn event_type(&self) -> &'static str {
        self.event_type
    }

    fn topic(&self) -> &'static str {
        self.topic
    }

    fn payload(&self) -> Result<Payload, PayloadError> {
        Payload::encode::<Json, _>(self)
    }

    fn key(&self) -> Option<String> {
        self.key.map(str::to_owned)
    }

    fn ordered(&self) -> bool {
        self.ordered
    }

    fn tenant(&self) -> Option<String> {
        self.tenant.map(str::to_owned)
    }
}

/// An event whose payload does not serialize.
pub(crate) struct Broken;

impl Serialize for Broken {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("the clock is before the epoch"))
    }
}

impl OutboxEvent for Broken {
    fn event_type(&self) -> &'static str {
        "broken"
    }

    fn topic(&self) -> &'static str {
        "plain"
    }

    fn payload(&self) -> Result<Payload, PayloadError> {
        Payload::encode::<Json, _>(self)
    }
}

/// A context in which nothing is left open.
pub(crate) fn request() -> Context {
    Context {
        correlation_id: Some("request-17".into()),
        causation_id: Some("command-4".into()),
        traceparent: Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into()),
        tracestate: Some("vendor=1".into()),
        tenant: Some("north".into()),
        headers: Headers::from_iter([("agent", "shop")]),
    }
}
