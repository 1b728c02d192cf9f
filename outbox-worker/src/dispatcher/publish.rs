//! Sending records and taking the broker's verdicts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use outbox_core::{
    DeadReason, EventId, FailedAttempt, Failure, FailureKind, Lane, OutboxMessage, OutcomeKind,
    Publisher, Receipt, Verdict,
};
use tokio::time::Instant;

use super::desk::{Answer, Desk, Running};
use super::destinations::{Call, Destination};
use super::flow::Throttling;
use super::held::{Entry, Held, Ticket};
use super::lane_window::LaneWindow;
use crate::gate::{Passage, Pause};
use crate::publisher::one_verdict_each;

/// A record that came back from the publisher, with its verdict.
#[derive(Debug)]
pub(super) struct Sent {
    held: Held,
    verdict: Result<Receipt, Failure>,
}

/// A record that becomes a dead letter, until that is said.
#[derive(Debug)]
pub(super) struct Death {
    pub(super) id: EventId,
    pub(super) reason: DeadReason,
    pub(super) error: String,
}

/// A call of the publisher that is under way.
#[derive(Debug)]
pub(super) struct Flight {
    to: Destination,
    number: u64,
    bytes: usize,
    begun: Instant,
    pub(super) tickets: Vec<Ticket>,
}

impl Desk {
    pub(super) fn start_publishing(&mut self, now: Instant) {
        while !self.draining {
            let passage = self.credentials.passage(now);
            let limit = match passage {
                Passage::Open => self.call_limit(),
                Passage::Probe => 1,
                Passage::Shut => return,
            };
            let reserve = self.parts.settings.send_reserve();
            let lanes = &mut self.lanes;
            let usable = |held| keep_sendable(lanes, held, now, reserve);
            let Some(call) = self.destinations.begin_call(now, limit, usable) else { return };
            if passage == Passage::Probe {
                self.credentials.probe();
            }
            self.start_send(call);
        }
    }

    /// Messages that one call may carry.
    pub(super) fn call_limit(&self) -> usize {
        self.parts.publisher.batch_limit().0.get()
    }

    fn start_send(&mut self, call: Call) {
        let Call { to, number, bytes, batch } = call;
        for held in &batch {
            if let Some(window) = self.lanes.get_mut(&held.reference().lane) {
                window.unsettled += 1;
            }
        }
        let tickets = batch.iter().map(Held::ticket).collect();
        let publisher = Arc::clone(&self.parts.publisher);
        let limit = self.parts.settings.publish_timeout;
        let topic = &*to.topic;
        let span = tracing::info_span!("outbox.publish", topic, messages = batch.len());
        let flight = Flight { to, number, bytes, begun: Instant::now(), tickets };
        self.spawn(Running::Publish(flight), span, async move {
            Answer::Published(send(&*publisher, batch, limit).await)
        });
    }

    pub(super) fn take_sent(&mut self, flight: Flight, sent: Vec<Sent>) {
        self.end_flight(&flight);
        let must_pause = self.learn(&flight, &sent);
        // In reverse, so that records which go back to the front of their queue keep their order.
        for (ticket, sent) in flight.tickets.into_iter().zip(sent).rev() {
            self.take_verdict(&ticket, sent, must_pause);
        }
        self.say_deaths();
    }

    /// The publisher panicked: the broker may have taken the messages.
    pub(super) fn take_died_publisher(&mut self, flight: Flight) {
        self.end_flight(&flight);
        tracing::error!(messages = flight.tickets.len(), "the publisher panicked");
        for ticket in flight.tickets {
            let failure = Failure::new(FailureKind::Ambiguous, "the publisher panicked");
            self.parts.figures.count_failed(failure.kind);
            self.decide(&ticket, failure);
        }
        self.destinations.gate(&flight.to).probe_again();
        self.credentials.probe_again();
        self.say_deaths();
    }

    fn end_flight(&mut self, flight: &Flight) {
        self.destinations.end_call(&flight.to, flight.bytes, flight.begun.elapsed());
    }

    /// What a call tells of how many calls its destination takes; says whether it has to be left
    /// alone for a while.
    fn learn(&mut self, flight: &Flight, sent: &[Sent]) -> bool {
        let flow = self.destinations.flow(&flight.to);
        let failed = |kind: FailureKind| {
            move |sent: &Sent| sent.verdict.as_ref().is_err_and(|failure| failure.kind == kind)
        };
        if sent.iter().any(failed(FailureKind::Throttled)) {
            return flow.throttled(flight.number) == Throttling::TooMuch;
        }
        if sent.iter().all(failed(FailureKind::Ambiguous)) {
            // A destination that does not answer holds every call for long.
            flow.throttled(flight.number);
        } else if sent.iter().any(|sent| sent.verdict.is_ok()) {
            flow.succeeded();
        }
        false
    }

    fn take_verdict(&mut self, ticket: &Ticket, sent: Sent, must_pause: bool) {
        let to = Destination::of(&sent.held.record.message);
        match sent.verdict {
            Ok(_) => {
                self.destinations.succeeded(&to);
                if self.credentials.open() {
                    tracing::info!("credentials work again");
                }
                self.take_published(ticket);
            }
            Err(failure) => {
                self.parts.figures.count_failed(failure.kind);
                match failure.kind {
                    FailureKind::Credentials => {
                        self.destinations.gate(&to).probe_again();
                        self.pause_everything(&failure);
                    }
                    FailureKind::Destination => {
                        // Whoever is told so about a topic has been let in.
                        self.credentials.open();
                        self.pause_destination(&to, &failure);
                    }
                    FailureKind::Throttled => {
                        self.credentials.open();
                        self.slow_destination(&to, &failure, must_pause);
                    }
                    FailureKind::Ambiguous | FailureKind::Message | FailureKind::Transient => {
                        self.destinations.gate(&to).probe_again();
                        self.credentials.probe_again();
                        self.say_failing(&to, &failure);
                        return self.decide(ticket, failure);
                    }
                }
                self.send_again(sent.held);
            }
        }
    }

    fn take_published(&mut self, ticket: &Ticket) {
        if let Some(key) = &ticket.key
            && let Some(window) = self.window_of(ticket)
        {
            // The broker has it, so the next record of the key may follow before this one's
            // settlement is written: a repetition after a crash repeats both, in order.
            let next = window.key(key).passed(ticket.record.position);
            window.tidy(key);
            self.go_on(next);
        }
        self.write_later(ticket, OutcomeKind::Published);
    }

    /// Asks the retry policy what follows a failure that is counted.
    fn decide(&mut self, ticket: &Ticket, failure: Failure) {
        let verdict = self.parts.retry.decide(FailedAttempt {
            kind: failure.kind,
            attempts: ticket.attempts.saturating_add(1),
            failing_for: ticket.failing_for(),
            retry_after: failure.retry_after,
            random: fastrand::f64(),
        });
        match verdict {
            Verdict::Dead(reason) => self.give_up(ticket, reason, &failure),
            Verdict::RetryAfter(delay) => {
                if let Some(key) = &ticket.key
                    && let Some(window) = self.window_of(ticket)
                {
                    window.key(key).failed(ticket.record.position);
                }
                self.write_later(ticket, OutcomeKind::Failed { failure, delay });
            }
        }
    }

    fn give_up(&mut self, ticket: &Ticket, reason: DeadReason, failure: &Failure) {
        let error = failure.to_string();
        self.deaths.push(Death { id: ticket.record.id, reason, error: error.clone() });
        let parks_key = ticket.key.is_some();
        self.write_later(ticket, OutcomeKind::Dead { reason, error, parks_key });
    }

    /// One line for all that died of one call, be it a send or a read.
    pub(super) fn say_deaths(&mut self) {
        let deaths = std::mem::take(&mut self.deaths);
        if let [Death { id, reason, error }, ..] = deaths.as_slice() {
            let count = deaths.len();
            tracing::error!(count, first = %id, %reason, error, "records become dead letters");
        }
    }

    /// One line when sends to a topic begin to fail; a single message that is refused has its own.
    fn say_failing(&mut self, to: &Destination, failure: &Failure) {
        if failure.kind != FailureKind::Message && self.destinations.failed(to, failure.kind) {
            let (topic, transport) = (&to.topic, to.transport.as_deref());
            tracing::warn!(%topic, transport, %failure, "sending fails: records are tried again");
        }
    }

    fn pause_destination(&mut self, to: &Destination, failure: &Failure) {
        self.destinations.gate(to).shut(Instant::now(), Pause::BROKEN, failure.retry_after);
        if self.destinations.failed(to, failure.kind) {
            let (topic, transport) = (&to.topic, to.transport.as_deref());
            tracing::warn!(%topic, transport, %failure, "topic is paused: its records wait");
        }
    }

    /// The broker asks for less: fewer calls at once, and none for a while if it says so or if a
    /// single one was too much.
    fn slow_destination(&mut self, to: &Destination, failure: &Failure, must_pause: bool) {
        let gate = self.destinations.gate(to);
        if must_pause || gate.is_probing() || failure.retry_after.is_some() {
            gate.shut(Instant::now(), Pause::THROTTLED, failure.retry_after);
        }
        if self.destinations.failed(to, failure.kind) {
            let (topic, transport) = (&to.topic, to.transport.as_deref());
            tracing::warn!(%topic, transport, %failure, "topic is throttled: sent more slowly");
        }
    }

    /// One line for each topic that has worked for a while after it had failed.
    pub(super) fn say_recovered(&mut self) {
        for Destination { topic, transport } in self.destinations.recovered() {
            tracing::info!(%topic, transport, "topic works again");
        }
    }

    fn pause_everything(&mut self, failure: &Failure) {
        if self.credentials.shut(Instant::now(), Pause::BROKEN, failure.retry_after) {
            tracing::error!(%failure, "credentials fail: all sending is paused");
        }
    }

    /// The row was not touched: the record goes back to the front of its queue.
    fn send_again(&mut self, held: Held) {
        let lane = held.reference().lane;
        if let Some(window) = self.lanes.get_mut(&lane)
            && window.lease.token == held.token
        {
            window.unsettled -= 1;
            self.destinations.put_back(held);
        }
    }

    /// The next of a key may go.
    pub(super) fn go_on(&mut self, next: Option<Entry>) {
        if let Some(entry) = next {
            self.take_turn(entry);
        }
    }

    /// The lane of a ticket, if it is still held under the same lease.
    pub(super) fn window_of(&mut self, ticket: &Ticket) -> Option<&mut LaneWindow> {
        let window = self.lanes.get_mut(&ticket.record.lane)?;
        (window.lease.token == ticket.token).then_some(window)
    }
}

/// Keeps a record whose lane is held, open and leased for long enough.
fn keep_sendable(
    lanes: &mut BTreeMap<Lane, LaneWindow>,
    held: Held,
    now: Instant,
    reserve: Duration,
) -> Option<Held> {
    let window = lanes.get_mut(&held.reference().lane)?;
    if window.lease.token != held.token || window.closing {
        return None;
    }
    if !window.outlives(now, reserve) {
        window.stale.push(held);
        return None;
    }
    Some(held)
}

/// One call of the publisher; nothing of it may outlive the time that the lease was checked for.
async fn send(publisher: &dyn Publisher, batch: Vec<Held>, limit: Duration) -> Vec<Sent> {
    let messages: Vec<OutboxMessage> =
        batch.iter().map(|held| held.record.message.clone()).collect();
    let mut verdicts = match tokio::time::timeout(limit, publisher.publish(&messages)).await {
        Ok(verdicts) => verdicts,
        Err(_) => vec![Err(lost("no answer from the broker in time")); batch.len()],
    };
    verdicts = one_verdict_each(verdicts, batch.len());
    batch.into_iter().zip(verdicts).map(|(held, verdict)| Sent { held, verdict }).collect()
}

fn lost(summary: &str) -> Failure {
    Failure::new(FailureKind::Ambiguous, summary)
}
