//! Sending records and taking the broker's verdicts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use outbox_core::{
    DeadReason, EventId, ExponentialBackoff, FailedAttempt, Failure, FailureKind, KeyRef, Lane,
    OutboxMessage, OutcomeKind, Publisher, Receipt, RetryPolicy, Verdict,
};
use tokio::time::Instant;

use super::desk::{Answer, Desk, Running};
use super::destinations::{Call, Destination};
use super::flow::Throttling;
use super::held::{Entry, Held, Ticket};
use super::lane_window::LaneWindow;
use super::spans;
use crate::gate::{Gate, Passage, Pause};
use crate::metrics::Measurement;
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
    id: EventId,
    reason: DeadReason,
    error: String,
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

/// Why a destination has to be left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lesson {
    /// It is out of reach.
    Away,
    /// A single call was too much for it.
    TooMuch,
}

impl Sent {
    /// Who is at fault, if it failed.
    pub(super) fn failed(&self) -> Option<FailureKind> {
        self.verdict.as_ref().err().map(|failure| failure.kind)
    }
}

impl Desk {
    pub(super) fn start_publishing(&mut self, now: Instant) {
        if self.sends_alone(now) {
            return;
        }
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
            self.begin_send(call, passage);
        }
    }

    /// Messages that one call may carry.
    pub(super) fn call_limit(&self) -> usize {
        self.parts.publisher.batch_limit().0.get()
    }

    /// Begins a call that the gate of the credentials let pass so.
    pub(super) fn begin_send(&mut self, call: Call, passage: Passage) {
        if passage == Passage::Probe {
            self.change_credentials(Gate::probe);
        }
        if call.probes {
            self.change_gate(&call.to, Gate::probe);
        }
        self.start_send(call);
    }

    fn start_send(&mut self, call: Call) {
        let Call { to, number, bytes, batch, .. } = call;
        for held in &batch {
            if let Some(window) = self.lanes.get_mut(&held.reference().lane) {
                window.unsettled += 1;
            }
        }
        let tickets = batch.iter().map(Held::ticket).collect();
        let publisher = Arc::clone(&self.parts.publisher);
        let limit = self.parts.settings.publish_timeout;
        let span = spans::publish(&*publisher, &to, &batch);
        if let Some(traces) = &self.parts.traces {
            self.parts.guards.traces.call(|| spans::link(&**traces, &span, &batch));
        }
        let flight = Flight { to, number, bytes, begun: Instant::now(), tickets };
        self.spawn(Running::Publish(flight), span, async move {
            let sent = send(&*publisher, batch, limit).await;
            spans::sent(&sent);
            Answer::Published(sent)
        });
    }

    pub(super) fn take_sent(&mut self, flight: Flight, sent: Vec<Sent>) {
        self.end_flight(&flight);
        self.take_back_alone();
        let lesson = self.learn(&flight, &sent);
        // In reverse, so that records which go back to the front of their queue keep their order.
        for (ticket, sent) in flight.tickets.into_iter().zip(sent).rev() {
            self.take_verdict(&ticket, sent, lesson);
        }
        self.say_deaths();
    }

    /// The publisher panicked: the broker may have taken the messages.
    pub(super) fn take_died_publisher(&mut self, flight: Flight) {
        self.end_flight(&flight);
        self.take_back_alone();
        tracing::error!(messages = flight.tickets.len(), "the publisher panicked");
        for ticket in flight.tickets {
            let failure = Failure::new(FailureKind::Ambiguous, "the publisher panicked");
            let topic = &*flight.to.topic;
            self.parts.measure(&Measurement::Failed { topic, kind: failure.kind });
            self.decide(&ticket, failure);
        }
        self.change_gate(&flight.to, Gate::probe_again);
        self.change_credentials(Gate::probe_again);
        self.say_deaths();
    }

    fn end_flight(&mut self, flight: &Flight) {
        let took = flight.begun.elapsed();
        self.destinations.end_call(&flight.to, flight.bytes, took);
        let (topic, messages) = (&*flight.to.topic, flight.tickets.len());
        self.parts.measure(&Measurement::Called { topic, messages, took });
    }

    /// What a call tells of how many calls its destination takes, and whether that has to be left alone
    /// for a while.
    fn learn(&mut self, flight: &Flight, sent: &[Sent]) -> Option<Lesson> {
        let flow = self.destinations.flow(&flight.to);
        let failed = |kind| move |sent: &Sent| sent.failed() == Some(kind);
        if sent.iter().any(failed(FailureKind::Throttled)) {
            let throttling = flow.throttled(flight.number);
            self.destinations.outage(&flight.to).answered();
            return (throttling == Throttling::TooMuch).then_some(Lesson::TooMuch);
        }
        if sent.iter().all(failed(FailureKind::Ambiguous)) {
            // A destination that does not answer holds every call for long.
            flow.throttled(flight.number);
        } else if sent.iter().any(|sent| sent.failed().is_none()) {
            flow.succeeded();
        }
        let outage = self.destinations.outage(&flight.to);
        let away = |sent: &Sent| sent.failed().is_some_and(is_away);
        match flight.tickets.first() {
            Some(first) if sent.iter().all(away) => {
                outage.failed(first.record).then_some(Lesson::Away)
            }
            _ => {
                outage.answered();
                None
            }
        }
    }

    fn take_verdict(&mut self, ticket: &Ticket, sent: Sent, lesson: Option<Lesson>) {
        let to = Destination::of(&sent.held.record.message);
        match sent.verdict {
            Ok(_) => {
                let lag = lag(&sent.held.record.message);
                self.parts.measure(&Measurement::Accepted { topic: &to.topic, lag });
                self.change_gate(&to, Gate::open);
                self.destinations.succeeded(&to);
                self.open_credentials();
                self.take_published(ticket);
            }
            Err(failure) => {
                let (topic, kind) = (&*to.topic, failure.kind);
                self.parts.measure(&Measurement::Failed { topic, kind });
                self.take_failure(&to, &failure, lesson);
                if is_counted(kind) {
                    self.decide(ticket, failure);
                } else {
                    self.send_again(sent.held);
                }
            }
        }
    }

    /// What a failure tells of its destination.
    fn take_failure(&mut self, to: &Destination, failure: &Failure, lesson: Option<Lesson>) {
        match failure.kind {
            FailureKind::Credentials => {
                self.change_gate(to, Gate::probe_again);
                self.pause_everything(failure);
            }
            FailureKind::Destination => {
                // Whoever is told so about a topic has been let in.
                self.open_credentials();
                self.pause_destination(to, failure);
            }
            FailureKind::Throttled => {
                self.open_credentials();
                self.slow_destination(to, failure, lesson == Some(Lesson::TooMuch));
            }
            FailureKind::Ambiguous | FailureKind::Message | FailureKind::Transient => {
                if lesson == Some(Lesson::Away) {
                    self.leave_alone(to, failure);
                } else {
                    self.change_gate(to, Gate::probe_again);
                }
                self.change_credentials(Gate::probe_again);
                self.say_failing(to, failure);
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
        let attempt = FailedAttempt {
            kind: failure.kind,
            attempts: ticket.attempts.saturating_add(1),
            failing_for: ticket.failing_for(),
            retry_after: failure.retry_after.map(|asked| asked.min(Pause::LONGEST_ASKED)),
            random: fastrand::f64(),
        };
        let retry = &*self.parts.retry;
        let verdict = self.parts.guards.retry.call(|| retry.decide(attempt));
        // A policy that panics must neither lose the outcome nor repeat the send at once.
        match verdict.unwrap_or_else(|| ExponentialBackoff::default().decide(attempt)) {
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
        let dead = self.dead_letter(ticket, reason, failure.to_string());
        self.write_later(ticket, dead);
    }

    /// The outcome of a record that is given up, which is said once its call or read is dealt with.
    pub(super) fn dead_letter(
        &mut self,
        ticket: &Ticket,
        reason: DeadReason,
        error: String,
    ) -> OutcomeKind {
        self.deaths.push(Death { id: ticket.record.id, reason, error: error.clone() });
        let skips =
            |key: &KeyRef| self.parts.settings.skip_dead.iter().any(|it| **it == *key.topic);
        let parks_key = ticket.key.as_ref().is_some_and(|key| !skips(key));
        OutcomeKind::Dead { reason, error, parks_key }
    }

    /// One line for all that died of one call, be it a send or a read.
    pub(super) fn say_deaths(&mut self) {
        let deaths = std::mem::take(&mut self.deaths);
        if let [Death { id, reason, error }, ..] = deaths.as_slice() {
            let count = deaths.len();
            tracing::error!(count, first = %id, %reason, error, "records become dead letters");
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
pub(super) fn keep_sendable(
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

/// Whether it is an attempt of the record: otherwise its row is not touched.
const fn is_counted(kind: FailureKind) -> bool {
    matches!(kind, FailureKind::Ambiguous | FailureKind::Message | FailureKind::Transient)
}

/// Whether a whole call that fails so may mean that the destination is out of reach.
const fn is_away(kind: FailureKind) -> bool {
    matches!(kind, FailureKind::Ambiguous | FailureKind::Transient)
}

/// Time since the message could first have been sent.
fn lag(message: &OutboxMessage) -> Duration {
    let due = message.deliver_at.map_or(message.occurred_at, |at| at.max(message.occurred_at));
    (Utc::now() - due).to_std().unwrap_or_default()
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
