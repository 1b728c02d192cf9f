//! Destinations that fail, and what is said of them.

use outbox_core::{Failure, FailureKind};
use tokio::time::Instant;

use super::desk::Desk;
use super::destinations::Destination;
use crate::gate::{Gate, Pause};
use crate::metrics::Measurement;

impl Desk {
    /// A missing topic or permission: its records wait, untouched.
    pub(super) fn pause_destination(&mut self, to: &Destination, failure: &Failure) {
        let after = failure.retry_after;
        self.change_gate(to, |gate| gate.shut(Instant::now(), Pause::BROKEN, after));
        if self.destinations.failed(to, failure.kind) {
            let (topic, transport) = (&to.topic, to.transport.as_deref());
            tracing::warn!(%topic, transport, %failure, "topic is paused: its records wait");
        }
    }

    /// The broker asks for less: fewer calls at once, and none for a while if it says so or if a
    /// single one was too much.
    pub(super) fn slow_destination(
        &mut self,
        to: &Destination,
        failure: &Failure,
        must_pause: bool,
    ) {
        let after = failure.retry_after;
        self.change_gate(to, |gate| {
            if must_pause || gate.is_probing() || after.is_some() {
                gate.shut(Instant::now(), Pause::THROTTLED, after);
            }
        });
        if self.destinations.failed(to, failure.kind) {
            let (topic, transport) = (&to.topic, to.transport.as_deref());
            tracing::warn!(%topic, transport, %failure, "topic is throttled: sent more slowly");
        }
    }

    /// Call after call fails as a whole: what waits does so untouched, or an outage would use up its
    /// attempts. A record that probes has its own counted, for it may be the reason.
    pub(super) fn leave_alone(&mut self, to: &Destination, failure: &Failure) {
        let was_away = self.destinations.gate(to).is_away();
        let after = failure.retry_after;
        self.change_gate(to, |gate| gate.shut(Instant::now(), Pause::AWAY, after));
        if !was_away {
            let (topic, transport) = (&to.topic, to.transport.as_deref());
            tracing::warn!(%topic, transport, %failure, "every call fails: the topic is paused");
        }
    }

    pub(super) fn pause_everything(&mut self, failure: &Failure) {
        let was_open = !self.credentials.is_shut();
        let after = failure.retry_after;
        self.change_credentials(|gate| gate.shut(Instant::now(), Pause::BROKEN, after));
        if was_open {
            tracing::error!(%failure, "credentials fail: all sending is paused");
        }
    }

    /// Somebody was let in.
    pub(super) fn open_credentials(&mut self) {
        if self.credentials.is_shut() {
            self.change_credentials(Gate::open);
            tracing::info!("credentials work again");
        }
    }

    /// One line when sends to a topic begin to fail; a single message that is refused has its own.
    pub(super) fn say_failing(&mut self, to: &Destination, failure: &Failure) {
        if failure.kind != FailureKind::Message && self.destinations.failed(to, failure.kind) {
            let (topic, transport) = (&to.topic, to.transport.as_deref());
            tracing::warn!(%topic, transport, %failure, "sending fails: records are tried again");
        }
    }

    /// One line for each topic that has worked for a while after it had failed.
    pub(super) fn say_recovered(&mut self) {
        for Destination { topic, transport } in self.destinations.recovered() {
            tracing::info!(%topic, transport, "topic works again");
        }
    }

    /// Changes the breaker of a destination, and tells if that makes a difference.
    pub(super) fn change_gate<T>(&mut self, to: &Destination, change: impl FnOnce(&mut Gate) -> T) {
        let gate = self.destinations.gate(to);
        let before = gate.state();
        change(gate);
        let state = gate.state();
        if state != before {
            let (topic, transport) = (Some(&*to.topic), to.transport.as_deref());
            self.parts.measure(&Measurement::Breaker { topic, transport, state });
        }
    }

    /// As [`change_gate`](Self::change_gate), of the one that stops everything.
    pub(super) fn change_credentials<T>(&mut self, change: impl FnOnce(&mut Gate) -> T) {
        let before = self.credentials.state();
        change(&mut self.credentials);
        let state = self.credentials.state();
        if state != before {
            self.parts.measure(&Measurement::Breaker { topic: None, transport: None, state });
        }
    }
}
