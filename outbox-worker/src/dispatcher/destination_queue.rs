//! The records of one destination that may be sent.

use std::collections::VecDeque;
use std::time::Duration;

use outbox_core::{Lane, RecordRef};
use tokio::time::Instant;

use super::flow::Flow;
use super::held::Held;
use super::outage::Outage;
use super::trouble::Trouble;
use crate::gate::{Gate, Passage};

/// Records of a destination that stay in memory while it is shut.
const PROBES: usize = 10;

/// Bytes that one call carries, or a single record; no broker of ours takes more at once.
const CALL_BYTES: usize = 1024 * 1024;

/// After this time without a record a destination is forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub(super) struct DestinationQueue {
    pub(super) gate: Gate,
    pub(super) flow: Flow,
    pub(super) outage: Outage,
    pub(super) trouble: Trouble,
    pub(super) in_turn: bool,
    /// Bytes of the calls that are under way.
    pub(super) bytes_in_flight: usize,
    ready: VecDeque<Held>,
    /// How few records make it worth reading more of them, while reads leave them out.
    full_above: Option<usize>,
    used_at: Instant,
}

impl DestinationQueue {
    pub(super) fn new(most_calls: usize) -> Self {
        Self {
            gate: Gate::default(),
            flow: Flow::new(most_calls),
            outage: Outage::default(),
            trouble: Trouble::default(),
            in_turn: false,
            bytes_in_flight: 0,
            ready: VecDeque::new(),
            full_above: None,
            used_at: Instant::now(),
        }
    }

    pub(super) fn push_back(&mut self, held: Held) {
        self.ready.push_back(held);
    }

    pub(super) fn push_front(&mut self, held: Held) {
        self.ready.push_front(held);
    }

    pub(super) fn ready(&self) -> impl Iterator<Item = &Held> {
        self.ready.iter()
    }

    /// Lets go of the records of this lane.
    pub(super) fn forget(&mut self, lane: Lane) {
        self.ready.retain(|held| held.reference().lane != lane);
    }

    /// Takes this very record, if it is there.
    pub(super) fn remove(&mut self, record: RecordRef) -> Option<Held> {
        let at = self.ready.iter().position(|held| held.reference() == record)?;
        self.ready.remove(at)
    }

    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// How many records the next call may carry, of at most `limit`.
    pub(super) fn room(&self, now: Instant, limit: usize) -> usize {
        match self.gate.passage(now) {
            Passage::Open if self.flow.has_room() => limit,
            Passage::Probe => 1,
            Passage::Open | Passage::Shut => 0,
        }
    }

    /// Takes records for a call; `usable` keeps one by returning it.
    pub(super) fn fill(
        &mut self,
        now: Instant,
        room: usize,
        usable: &mut impl FnMut(Held) -> Option<Held>,
    ) -> Vec<Held> {
        let mut batch: Vec<Held> = Vec::new();
        let mut bytes = 0;
        while batch.len() < room
            && let Some(held) = self.ready.pop_front()
        {
            bytes += held.bytes();
            if bytes > CALL_BYTES && !batch.is_empty() {
                self.ready.push_front(held);
                break;
            }
            batch.extend(usable(held));
        }
        if !batch.is_empty() {
            self.used_at = now;
        }
        if self.full_above.is_some_and(|few| self.ready.len() <= few) {
            self.full_above = None;
        }
        batch
    }

    /// Whether more of its records would only take up memory.
    pub(super) fn is_withheld(&self) -> bool {
        let shut = self.gate.is_shut() && (self.gate.is_probing() || self.has_ready());
        shut || self.full_above.is_some()
    }

    /// Takes away what a destination that is shut or slow will not take in a while, or what is
    /// more than so many bytes.
    pub(super) fn shed(&mut self, call: usize, bytes: usize) -> Vec<Held> {
        let few = match (self.gate.is_shut(), self.flow.is_slow()) {
            (true, _) => PROBES,
            (false, true) => (self.flow.window() * call * 2).max(PROBES),
            (false, false) => return Vec::new(),
        };
        let stay = self.first_within(bytes).min(few);
        if self.ready.len() <= stay {
            return Vec::new();
        }
        self.full_above = Some(stay / 2);
        self.ready.split_off(stay).into()
    }

    /// Whether nothing is known of it that has to be remembered.
    pub(super) fn is_forgotten(&self, now: Instant) -> bool {
        let calm = !self.gate.is_shut() && self.trouble.is_over() && !self.flow.is_slow();
        calm && !self.has_ready()
            && self.flow.in_flight() == 0
            && now - self.used_at >= FORGOTTEN_AFTER
    }

    /// How many of the first ones take no more bytes than that, one at least.
    fn first_within(&self, bytes: usize) -> usize {
        let mut taken = 0;
        let fits = |held: &&Held| {
            taken += held.bytes();
            taken <= bytes
        };
        self.ready.iter().take_while(fits).count().max(1)
    }
}
