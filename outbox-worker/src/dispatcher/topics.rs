//! Records that may be sent, by topic.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tokio::time::Instant;

use super::held::Held;
use crate::gate::{Gate, Passage};

#[derive(Debug, Default)]
struct TopicQueue {
    ready: VecDeque<Held>,
    gate: Gate,
    in_turn: bool,
    /// The last send failed and was counted: said once, until one succeeds.
    failing: bool,
}

/// The queues of all topics, served in turn so that none waits for another.
#[derive(Debug, Default)]
pub(super) struct Topics {
    queues: HashMap<Arc<str>, TopicQueue>,
    turn: VecDeque<Arc<str>>,
}

impl Topics {
    /// Puts a record behind the others of its topic.
    pub(super) fn push(&mut self, held: Held) {
        self.queue_of(&held).ready.push_back(held);
    }

    /// Puts a record back that could not be sent now.
    pub(super) fn put_back(&mut self, held: Held) {
        self.queue_of(&held).ready.push_front(held);
    }

    /// The next batch of the topic whose turn it is.
    ///
    /// `usable` keeps a record by returning it, and takes away one that must not be sent.
    pub(super) fn take(
        &mut self,
        now: Instant,
        limit: usize,
        mut usable: impl FnMut(Held) -> Option<Held>,
    ) -> Option<Vec<Held>> {
        for _ in 0..self.turn.len() {
            let topic = self.turn.pop_front()?;
            let queue = self.queues.get_mut(&topic)?;
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
                self.turn.push_back(topic);
            }
            if !batch.is_empty() {
                return Some(batch);
            }
        }
        None
    }

    /// Whether any topic has a record to send.
    pub(super) fn has_ready(&self) -> bool {
        !self.turn.is_empty()
    }

    /// Notes that a send to this topic failed or succeeded, and says whether that is news.
    pub(super) fn note(&mut self, topic: &Arc<str>, failing: bool) -> bool {
        let queue = self.queues.entry(Arc::clone(topic)).or_default();
        std::mem::replace(&mut queue.failing, failing) != failing
    }

    /// The breaker of a topic.
    pub(super) fn gate(&mut self, topic: &Arc<str>) -> &mut Gate {
        &mut self.queues.entry(Arc::clone(topic)).or_default().gate
    }

    /// When the first shut topic with records may be probed.
    pub(super) fn opens_at(&self) -> Option<Instant> {
        let waiting = self.queues.values().filter(|queue| !queue.ready.is_empty());
        waiting.filter_map(|queue| queue.gate.opens_at()).min()
    }

    fn queue_of(&mut self, held: &Held) -> &mut TopicQueue {
        let topic = &held.record.message.topic;
        let queue = self.queues.entry(Arc::clone(topic)).or_default();
        if !queue.in_turn {
            queue.in_turn = true;
            self.turn.push_back(Arc::clone(topic));
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
