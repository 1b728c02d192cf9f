//! Keeping out of memory what cannot be sent now.

use std::collections::{BTreeMap, HashMap};

use outbox_core::{KeyRef, Position, Withheld};

use super::{Known, LaneWindow, hides};
use crate::dispatcher::destinations::Destination;
use crate::dispatcher::held::{Entry, Held};
use crate::dispatcher::key_queue::KeyQueue;

impl LaneWindow {
    /// Decides what the next read leaves out: these destinations, and keys that are full.
    ///
    /// What was left out until now and is wanted again is read from where its records begin.
    pub(in crate::dispatcher) fn withhold(&mut self, destinations: &[Withheld]) {
        let keys = &self.keys;
        let hidden: Vec<Position> =
            self.claims.undue().filter(|at| hides(&self.left_out, keys, *at)).collect();
        let again = self.left_out.keep(|withheld| stays(withheld, keys, destinations));
        if let Some(floor) = again {
            let round = self.due.look_before();
            self.claims.look_again(round, |position| hidden.contains(&position));
            self.floor = self.floor.min(floor);
            self.read_to = self.read_to.min(floor);
            // What stays left out may have been hidden by what is wanted again, from there on: the
            // reads that follow pass it once more.
            self.left_out.rewind(floor);
        }
        for destination in destinations {
            self.left_out.add_below(destination.clone(), self.floor);
        }
        for (key, _) in self.keys.iter().filter(|(_, queue)| queue.is_full(false)) {
            self.left_out.add_key(key, self.floor);
        }
    }

    /// What reads leave out now.
    pub(in crate::dispatcher) fn withheld(&self) -> impl Iterator<Item = &Withheld> {
        self.left_out.iter()
    }

    /// Whether something that reads leave out is wanted again.
    pub(in crate::dispatcher) fn lacks_withheld(&self, destinations: &[Withheld]) -> bool {
        self.left_out.iter().any(|withheld| !stays(withheld, &self.keys, destinations))
    }

    /// Lets go of a record of a destination that is shut, and of those that wait behind it.
    pub(in crate::dispatcher) fn shed(&mut self, held: &Held) {
        if held.token != self.lease.token {
            return;
        }
        let position = held.reference().position;
        let to = Destination::of(&held.record.message);
        let Some(key) = held.record.key() else {
            return self.leave_out(to.withheld(), &[position]);
        };
        let queue = self.keys.entry(key).or_default();
        if held.record.attempts > 0 {
            queue.failed(position);
        } else {
            queue.shed(position);
        }
        let mut gone = queue.shed_waiting(|at| stays_away(&self.known, at));
        gone.push(position);
        // Reads cannot tell the keys that wait for this destination from those of another transport,
        // so all of the topic stay away; until then its keys were read, and those of others sent.
        self.leave_out(Withheld::Ordered(to.topic), &gone);
    }

    /// Lets go of records that need not wait in memory: those of a key that waits for a failed one,
    /// and those far behind in a long queue.
    pub(in crate::dispatcher) fn shed_excess(&mut self) {
        let known = &self.known;
        let full = self.keys.iter_mut().filter(|(_, queue)| queue.is_full(false));
        let excess =
            full.map(|(key, queue)| (key.clone(), queue.shed_waiting(|at| stays_away(known, at))));
        for (key, positions) in excess.collect::<Vec<_>>() {
            self.leave_out(Withheld::Key(key), &positions);
        }
    }

    /// Records of keys that may go now, because the lane is read far enough, in order of position.
    pub(in crate::dispatcher) fn freed(&mut self) -> Vec<Entry> {
        let (known, left_out) = (&self.known, &self.left_out);
        let mut freed = Vec::new();
        self.keys.retain(|key, queue| {
            if !queue.lacks_shed() {
                return true;
            }
            let read_to = left_out.read_to(key, self.read_to);
            freed.extend(queue.read_up_to(read_to, |at| known.contains_key(&at)));
            !queue.is_idle()
        });
        freed.sort_unstable_by_key(Entry::position);
        freed
    }

    /// What is forgotten here is read when it is wanted again.
    fn leave_out(&mut self, withheld: Withheld, gone: &[Position]) {
        let Some(first) = gone.iter().min() else { return };
        self.left_out.add_below(withheld, Position(first.0 - 1).min(self.floor));
        for position in gone {
            self.forget(*position);
        }
    }
}

/// Whether a record that is let go of comes back only when it is wanted again: one that was tried
/// before would come straight back, though its key is left out.
fn stays_away(known: &BTreeMap<Position, Known>, position: Position) -> bool {
    known.get(&position).is_some_and(|known| !known.tried)
}

fn goes_to(withheld: &Withheld, wanted: &str) -> bool {
    matches!(withheld, Withheld::Destination { topic, .. } if **topic == *wanted)
}

/// Whether reads go on leaving this out.
fn stays(withheld: &Withheld, keys: &HashMap<KeyRef, KeyQueue>, destinations: &[Withheld]) -> bool {
    match withheld {
        Withheld::Destination { .. } => destinations.contains(withheld),
        Withheld::Ordered(topic) => destinations.iter().any(|to| goes_to(to, topic)),
        Withheld::Key(key) => keys.get(key).is_some_and(|queue| queue.is_full(true)),
    }
}
