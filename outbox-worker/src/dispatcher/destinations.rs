//! Records that may be sent, by destination.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use outbox_core::{FailureKind, Lane, OutboxMessage, RecordRef, Withheld};
use tokio::time::Instant;

use super::destination_queue::DestinationQueue;
use super::flow::Flow;
use super::held::Held;
use super::outage::Outage;
use crate::gate::{Gate, Passage};

/// Where a record goes: to a topic, through the publisher that its transport names.
///
/// A transport that this worker does not have must not hold back the others of the topic.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Destination {
    pub(super) topic: Arc<str>,
    pub(super) transport: Option<String>,
}

impl Destination {
    pub(super) fn of(message: &OutboxMessage) -> Self {
        Self { topic: Arc::clone(&message.topic), transport: message.transport.clone() }
    }

    /// What goes there without an ordering key, as a read leaves it out.
    pub(super) fn withheld(&self) -> Withheld {
        let Self { topic, transport } = self.clone();
        Withheld::Destination { topic, transport }
    }
}

/// How much may be in flight at once to all destinations together.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlight {
    pub(super) calls: usize,
    /// Bytes of messages; the call that goes beyond it still begins.
    pub(super) bytes: usize,
}

/// The queues of all destinations, served in turn so that none waits for another.
#[derive(Debug)]
pub(super) struct Destinations {
    queues: HashMap<Destination, DestinationQueue>,
    turn: VecDeque<Destination>,
    in_flight: InFlight,
    most: InFlight,
}

/// A call of the publisher that begins.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) to: Destination,
    /// Which call to this destination it is.
    pub(super) number: u64,
    pub(super) bytes: usize,
    /// Whether it is to tell if the destination has recovered.
    pub(super) probes: bool,
    pub(super) batch: Vec<Held>,
}

impl Destinations {
    pub(super) fn new(most: InFlight) -> Self {
        let in_flight = InFlight { calls: 0, bytes: 0 };
        Self { queues: HashMap::new(), turn: VecDeque::new(), in_flight, most }
    }

    pub(super) const fn in_flight(&self) -> InFlight {
        self.in_flight
    }

    /// Puts a record behind the others of its destination.
    pub(super) fn push(&mut self, held: Held) {
        self.add(held, DestinationQueue::push_back);
    }

    /// Puts a record back that could not be sent now.
    pub(super) fn put_back(&mut self, held: Held) {
        self.add(held, DestinationQueue::push_front);
    }

    /// The next call to the destination whose turn it is.
    ///
    /// `usable` keeps a record by returning it, and takes away one that must not be sent.
    pub(super) fn begin_call(
        &mut self,
        now: Instant,
        limit: usize,
        mut usable: impl FnMut(Held) -> Option<Held>,
    ) -> Option<Call> {
        let InFlight { calls, bytes } = self.in_flight;
        if calls >= self.most.calls || bytes >= self.most.bytes {
            return None;
        }
        for _ in 0..self.turn.len() {
            let to = self.turn.pop_front()?;
            let spare = self.has_spare(&to);
            let queue = self.queues.get_mut(&to)?;
            let room = if spare { queue.room(now, limit) } else { 0 };
            let batch = queue.fill(now, room, &mut usable);
            queue.in_turn = queue.has_ready();
            if queue.in_turn {
                self.turn.push_back(to.clone());
            }
            if batch.is_empty() {
                continue;
            }
            return Some(self.begin(now, to, batch));
        }
        None
    }

    /// A call with so many bytes ended after so long, in whatever way.
    pub(super) fn end_call(&mut self, to: &Destination, bytes: usize, took: Duration) {
        let queue = self.queue(to);
        queue.flow.end(took);
        queue.bytes_in_flight -= bytes;
        self.in_flight.calls -= 1;
        self.in_flight.bytes -= bytes;
    }

    /// The record that comes first by this rank, of those with one that may be sent now.
    pub(super) fn first<R: Ord>(
        &self,
        now: Instant,
        rank: impl Fn(&Held) -> Option<R>,
    ) -> Option<&Held> {
        let open = self.queues.values().filter(|queue| queue.gate.passage(now) != Passage::Shut);
        let ranked = open.flat_map(DestinationQueue::ready);
        let ranked = ranked.filter_map(|held| Some((rank(held)?, held)));
        ranked.min_by(|(one, _), (other, _)| one.cmp(other)).map(|(_, held)| held)
    }

    /// A call with this very record, if it may be sent now and is `usable`.
    pub(super) fn begin_call_with(
        &mut self,
        now: Instant,
        record: RecordRef,
        usable: impl FnOnce(Held) -> Option<Held>,
    ) -> Option<Call> {
        let mut open =
            self.queues.iter_mut().filter(|(_, queue)| queue.gate.passage(now) != Passage::Shut);
        let (to, held) = open.find_map(|(to, queue)| Some((to, queue.remove(record)?)))?;
        let to = to.clone();
        usable(held).map(|held| self.begin(now, to, vec![held]))
    }

    fn begin(&mut self, now: Instant, to: Destination, batch: Vec<Held>) -> Call {
        let queue = self.queue(&to);
        let probes = queue.gate.passage(now) == Passage::Probe;
        let number = queue.flow.begin();
        let bytes = batch.iter().map(Held::bytes).sum();
        queue.bytes_in_flight += bytes;
        self.in_flight.calls += 1;
        self.in_flight.bytes += bytes;
        Call { to, number, bytes, probes, batch }
    }

    /// Whether a destination may have one more call.
    ///
    /// No destination takes the last quarter of the bytes, so that others have something to begin with.
    /// A slow one leaves half of the calls and bytes to others that are known, and keeps to a quarter
    /// itself while they need the rest.
    fn has_spare(&self, to: &Destination) -> bool {
        let Some(queue) = self.queues.get(to) else { return true };
        let (calls, bytes) = (queue.flow.in_flight(), queue.bytes_in_flight);
        let (most, now) = (self.most, self.in_flight);
        if !queue.flow.is_slow() {
            return bytes < most.bytes - most.bytes / 4;
        }
        self.queues.len() < 2
            || calls < share(most.calls, now.calls) && bytes < share(most.bytes, now.bytes)
    }

    /// Destinations of which more records would only take up memory.
    pub(super) fn withheld(&self) -> impl Iterator<Item = Withheld> + '_ {
        let withheld = self.queues.iter().filter(|(_, queue)| queue.is_withheld());
        withheld.map(|(to, _)| to.withheld())
    }

    /// Takes away what destinations that are shut or slow will not take in a while, or what is more
    /// than so many bytes of one.
    pub(super) fn shed(&mut self, call: usize, bytes: usize) -> Vec<Held> {
        let mut shed = Vec::new();
        for queue in self.queues.values_mut() {
            shed.extend(queue.shed(call, bytes));
        }
        shed
    }

    /// Records that wait behind a breaker, of messages that name no transport.
    pub(super) fn stuck(&self) -> impl Iterator<Item = &Held> {
        let shut = |(to, queue): &(&Destination, &DestinationQueue)| {
            to.transport.is_none() && queue.gate.is_broken()
        };
        self.queues.iter().filter(shut).flat_map(|(_, queue)| queue.ready())
    }

    /// Lets go of all records of a lane that waits behind a breaker.
    pub(super) fn forget(&mut self, lane: Lane) {
        for queue in self.queues.values_mut().filter(|queue| queue.gate.is_broken()) {
            queue.forget(lane);
        }
    }

    /// Whether any destination has a record to send.
    pub(super) fn has_ready(&self) -> bool {
        !self.turn.is_empty()
    }

    /// Whether any has a record to send and is neither broken nor out of reach.
    pub(super) fn has_sendable(&self) -> bool {
        let rests = |gate: &Gate| gate.is_broken() || gate.is_away();
        self.queues.values().any(|queue| queue.has_ready() && !rests(&queue.gate))
    }

    /// A send to it failed; says whether that is to be said.
    pub(super) fn failed(&mut self, to: &Destination, kind: FailureKind) -> bool {
        self.queue(to).trouble.failed(Instant::now(), kind)
    }

    /// A send to it succeeded.
    pub(super) fn succeeded(&mut self, destination: &Destination) {
        self.queue(destination).trouble.succeeded();
    }

    /// Destinations whose troubles have ended, each once.
    pub(super) fn recovered(&mut self) -> Vec<Destination> {
        let now = Instant::now();
        let queues = self.queues.iter_mut();
        let ended = queues.filter_map(|(to, queue)| queue.trouble.ended(now).then_some(to));
        let ended = ended.cloned().collect();
        self.queues.retain(|_, queue| !queue.is_forgotten(now));
        ended
    }

    /// Its breaker.
    pub(super) fn gate(&mut self, destination: &Destination) -> &mut Gate {
        &mut self.queue(destination).gate
    }

    /// Whether it is out of reach.
    pub(super) fn outage(&mut self, destination: &Destination) -> &mut Outage {
        &mut self.queue(destination).outage
    }

    /// How many calls it takes.
    pub(super) fn flow(&mut self, destination: &Destination) -> &mut Flow {
        &mut self.queue(destination).flow
    }

    /// When the first destination with records that is shut now may be probed.
    pub(super) fn opens_after(&self, now: Instant) -> Option<Instant> {
        let waiting = self.queues.values().filter(|queue| queue.has_ready());
        waiting.filter_map(|queue| queue.gate.opens_at()).filter(|at| *at > now).min()
    }

    fn queue(&mut self, destination: &Destination) -> &mut DestinationQueue {
        let most_calls = self.most.calls;
        let made = || DestinationQueue::new(most_calls);
        self.queues.entry(destination.clone()).or_insert_with(made)
    }

    fn add(&mut self, held: Held, add: impl FnOnce(&mut DestinationQueue, Held)) {
        let destination = Destination::of(&held.record.message);
        let queue = self.queue(&destination);
        let joins = !std::mem::replace(&mut queue.in_turn, true);
        add(queue, held);
        if joins {
            self.turn.push_back(destination);
        }
    }
}

/// What a slow destination may take of so much, of which all of them have taken so much.
const fn share(most: usize, taken: usize) -> usize {
    let quarter = most.div_ceil(4);
    let is_contested = most.saturating_sub(taken) <= quarter;
    if is_contested { quarter } else { most.div_ceil(2) }
}
