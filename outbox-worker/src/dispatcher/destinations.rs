//! Records that may be sent, by destination.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use outbox_core::{FailureKind, OutboxMessage, Withheld};
use tokio::time::Instant;

use super::held::Held;
use super::trouble::Trouble;
use crate::gate::{Gate, Passage};

/// Records of a destination that stay in memory while it is shut.
const PROBES: usize = 10;

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

    /// All that goes there, as a read leaves it out.
    pub(super) fn withheld(&self) -> Withheld {
        let Self { topic, transport } = self.clone();
        Withheld::Destination { topic, transport }
    }
}

#[derive(Debug, Default)]
struct DestinationQueue {
    ready: VecDeque<Held>,
    gate: Gate,
    in_turn: bool,
    trouble: Trouble,
}

/// The queues of all destinations, served in turn so that none waits for another.
#[derive(Debug, Default)]
pub(super) struct Destinations {
    queues: HashMap<Destination, DestinationQueue>,
    turn: VecDeque<Destination>,
}

impl Destinations {
    /// Puts a record behind the others of its destination.
    pub(super) fn push(&mut self, held: Held) {
        self.queue_of(&held).ready.push_back(held);
    }

    /// Puts a record back that could not be sent now.
    pub(super) fn put_back(&mut self, held: Held) {
        self.queue_of(&held).ready.push_front(held);
    }

    /// The next batch of the destination whose turn it is.
    ///
    /// `usable` keeps a record by returning it, and takes away one that must not be sent.
    pub(super) fn take(
        &mut self,
        now: Instant,
        limit: usize,
        mut usable: impl FnMut(Held) -> Option<Held>,
    ) -> Option<Vec<Held>> {
        for _ in 0..self.turn.len() {
            let destination = self.turn.pop_front()?;
            let queue = self.queues.get_mut(&destination)?;
            let room = match queue.gate.passage(now) {
                Passage::Open => limit,
                Passage::Probe => 1,
                Passage::Shut => 0,
            };
            let batch = fill(&mut queue.ready, room, &mut usable);
            if !batch.is_empty() && room == 1 && queue.gate.passage(now) == Passage::Probe {
                queue.gate.probe();
            }
            queue.in_turn = !queue.ready.is_empty();
            if queue.in_turn {
                self.turn.push_back(destination);
            }
            if !batch.is_empty() {
                return Some(batch);
            }
        }
        None
    }

    /// Destinations that are shut and have a record to probe with: more of theirs would only take up
    /// memory.
    pub(super) fn withheld(&self) -> impl Iterator<Item = Withheld> + '_ {
        let withheld = |queue: &DestinationQueue| {
            queue.gate.is_shut() && (queue.gate.is_probing() || !queue.ready.is_empty())
        };
        let shut = self.queues.iter().filter(move |(_, queue)| withheld(queue));
        shut.map(|(to, _)| to.withheld())
    }

    /// Takes away what destinations that are shut have beyond a few records to probe with.
    pub(super) fn shed(&mut self) -> Vec<Held> {
        let shut = self.queues.values_mut().filter(|queue| queue.gate.is_shut());
        shut.flat_map(|queue| queue.ready.split_off(queue.ready.len().min(PROBES))).collect()
    }

    /// Whether any destination has a record to send.
    pub(super) fn has_ready(&self) -> bool {
        !self.turn.is_empty()
    }

    /// A send to it failed; says whether that is to be said.
    pub(super) fn failed(&mut self, to: &Destination, kind: FailureKind) -> bool {
        self.queue(to).trouble.failed(Instant::now(), kind)
    }

    /// A send to it succeeded.
    pub(super) fn succeeded(&mut self, destination: &Destination) {
        let queue = self.queue(destination);
        queue.gate.open();
        queue.trouble.succeeded();
    }

    /// Destinations whose troubles have ended, each once.
    pub(super) fn recovered(&mut self) -> Vec<Destination> {
        let now = Instant::now();
        let queues = self.queues.iter_mut();
        let ended = queues.filter_map(|(to, queue)| queue.trouble.ended(now).then_some(to));
        ended.cloned().collect()
    }

    /// Its breaker.
    pub(super) fn gate(&mut self, destination: &Destination) -> &mut Gate {
        &mut self.queue(destination).gate
    }

    /// When the first shut destination with records may be probed.
    pub(super) fn opens_at(&self) -> Option<Instant> {
        let waiting = self.queues.values().filter(|queue| !queue.ready.is_empty());
        waiting.filter_map(|queue| queue.gate.opens_at()).min()
    }

    fn queue(&mut self, destination: &Destination) -> &mut DestinationQueue {
        self.queues.entry(destination.clone()).or_default()
    }

    fn queue_of(&mut self, held: &Held) -> &mut DestinationQueue {
        let destination = Destination::of(&held.record.message);
        let queue = self.queues.entry(destination.clone()).or_default();
        if !queue.in_turn {
            queue.in_turn = true;
            self.turn.push_back(destination);
        }
        queue
    }
}

fn fill(
    ready: &mut VecDeque<Held>,
    room: usize,
    usable: &mut impl FnMut(Held) -> Option<Held>,
) -> Vec<Held> {
    let mut batch = Vec::new();
    while batch.len() < room {
        let Some(held) = ready.pop_front() else { break };
        batch.extend(usable(held));
    }
    batch
}
