//! Lists as they are bound: one JSON text, whatever their length.

use std::fmt::Write as _;

use outbox_core::LaneLease;
use uuid::Uuid;

/// Leases as a JSON list of lane and token, the token as `hex()` writes it.
pub(crate) fn json_leases<'l>(leases: impl IntoIterator<Item = &'l LaneLease>) -> String {
    json_list(leases, |text, lease| {
        let LaneLease { lane, token } = lease;
        _ = write!(text, "[{lane},\"{}\"]", hex(token.uuid()));
    })
}

/// Lanes as a JSON list.
pub(crate) fn json_lanes(leases: &[LaneLease]) -> String {
    json_list(leases, |text, lease| _ = write!(text, "{}", lease.lane))
}

/// A UUID as SQL's `hex()` writes it.
pub(crate) fn hex(id: Uuid) -> String {
    format!("{:X}", id.simple())
}

/// A JSON list, each item as `write` puts it.
pub(crate) fn json_list<T>(
    items: impl IntoIterator<Item = T>,
    write: impl Fn(&mut String, T),
) -> String {
    let mut text = String::from("[");
    for (nth, item) in items.into_iter().enumerate() {
        if nth > 0 {
            text.push(',');
        }
        write(&mut text, item);
    }
    text.push(']');
    text
}
