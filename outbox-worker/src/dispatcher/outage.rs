//! Tells a destination that fails from records that fail.

use outbox_core::RecordRef;

/// So many calls in a row of which nothing arrived are an outage.
const CALLS: u32 = 5;

/// Calls of one destination that failed as a whole, one after another.
#[derive(Debug, Default)]
pub(super) struct Outage {
    calls: u32,
    last: Option<RecordRef>,
}

impl Outage {
    /// A call failed as a whole, with this record as its first; says whether that is an outage.
    ///
    /// One record that is refused again and again tells nothing about the others.
    pub(super) fn failed(&mut self, first: RecordRef) -> bool {
        if self.last.replace(first) != Some(first) {
            self.calls = self.calls.saturating_add(1);
        }
        self.calls >= CALLS
    }

    /// The destination took or refused something by itself.
    pub(super) fn answered(&mut self) {
        *self = Self::default();
    }
}
