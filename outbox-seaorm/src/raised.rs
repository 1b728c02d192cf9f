//! Events that an aggregate collects before anyone stages them.

use std::fmt;

use outbox_core::IntoEnvelope;

use crate::error::OutboxError;
use crate::events::{Events, IntoEvents};

type Raised = Box<dyn Fn(&mut Events) -> Result<(), OutboxError> + Send + Sync>;

/// Events of several types that a domain object raises, for one `stage_all`.
///
/// Raising needs no settings and cannot fail; id and time of an event are fixed here, source and
/// context when it is staged. An aggregate whose events share one enum keeps a plain `Vec` of it.
///
/// Where a transaction may be run again, stage `&events` in it and take them out once it is
/// committed: each attempt then stages the same events under the same ids.
///
/// ```
/// # use outbox_seaorm::{OutboxEvent, RaisedEvents};
/// # #[derive(serde::Serialize, OutboxEvent)]
/// # #[outbox(type = "orders.order_placed", topic = "orders")]
/// # struct OrderPlaced { order_id: i32 }
/// # #[derive(serde::Serialize, OutboxEvent)]
/// # #[outbox(type = "stock.reserved", topic = "stock")]
/// # struct StockReserved { sku: String }
/// #[derive(Default)]
/// struct Order {
///     raised: RaisedEvents,
/// }
///
/// impl Order {
///     fn place(&mut self) {
///         self.raised.raise(OrderPlaced { order_id: 7 });
///         self.raised.raise(StockReserved { sku: "A1".into() });
///     }
///
///     fn take_events(&mut self) -> RaisedEvents {
///         self.raised.take()
///     }
/// }
///
/// let mut order = Order::default();
/// order.place();
/// assert_eq!(order.take_events().len(), 2); // txn.stage_all(order.take_events()).await?
/// assert!(order.take_events().is_empty());
/// ```
#[derive(Default)]
pub struct RaisedEvents(Vec<Raised>);

impl RaisedEvents {
    /// None yet.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds an event, or an envelope with an event in it.
    pub fn raise<E>(&mut self, event: E)
    where
        E: IntoEnvelope,
        E::Event: Send + Sync + 'static,
    {
        let envelope = event.into_envelope();
        self.0.push(Box::new(move |events| events.push_envelope(&envelope)));
    }

    /// Takes all of them out.
    #[must_use = "events that are taken out and not staged are lost"]
    pub fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl IntoEvents for RaisedEvents {
    fn push_into(self, events: &mut Events) -> Result<(), OutboxError> {
        (&self).push_into(events)
    }
}

/// Leaves them there, so that a transaction that is run again stages them again, under the same ids.
impl IntoEvents for &RaisedEvents {
    fn push_into(self, events: &mut Events) -> Result<(), OutboxError> {
        self.0.iter().try_for_each(|raised| raised(events))
    }
}

impl fmt::Debug for RaisedEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RaisedEvents").field("len", &self.len()).finish_non_exhaustive()
    }
}
