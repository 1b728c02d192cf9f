//! The application's typed fact.

use crate::codec::{Payload, PayloadError};

/// A fact of the domain that other systems must hear of.
///
/// Derive it: `#[derive(Serialize, OutboxEvent)]` with
/// `#[outbox(type = "orders.order_placed", version = 1, topic = "orders", key = order_id, ordered)]`.
/// The wire name is always written out, so that renaming or moving the Rust type changes nothing
/// for consumers.
///
/// Written by hand, without a field that serde knows:
///
/// ```
/// use outbox_core::{Json, OutboxEvent, Payload, PayloadError};
///
/// struct ReportRequested;
///
/// impl OutboxEvent for ReportRequested {
///     fn event_type(&self) -> &'static str {
///         "reports.requested"
///     }
///
///     fn topic(&self) -> &'static str {
///         "reports"
///     }
///
///     fn payload(&self) -> Result<Payload, PayloadError> {
///         Payload::encode::<Json, _>(&["all"])
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an outbox event",
    note = "add `#[derive(serde::Serialize, OutboxEvent)]` and `#[outbox(type = \"...\", topic = \"...\")]` to it"
)]
pub trait OutboxEvent {
    /// Stable wire name, the `CloudEvents` type.
    fn event_type(&self) -> &'static str;

    /// Version of the payload's schema, from 1.
    fn event_version(&self) -> u16 {
        1
    }

    /// Where it goes.
    fn topic(&self) -> &'static str;

    /// The event as bytes, with their media type.
    ///
    /// # Errors
    /// [`PayloadError`] if it has no such form. Nothing is staged then.
    fn payload(&self) -> Result<Payload, PayloadError>;

    /// Partition key: which thing the event is about.
    fn key(&self) -> Option<String> {
        None
    }

    /// Whether events of one key go out one at a time, in order.
    fn ordered(&self) -> bool {
        false
    }

    /// Tenant that owns the event.
    fn tenant(&self) -> Option<String> {
        None
    }

    /// `CloudEvents` subject.
    fn subject(&self) -> Option<String> {
        None
    }
}
