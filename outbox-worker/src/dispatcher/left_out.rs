//! What the reads of one lane leave out, because it would only take up memory.

use std::collections::HashMap;

use outbox_core::{KeyRef, Position, Withheld};

/// Beyond this many, keys are left out only if records of theirs were let go of; those of others are
/// held in memory.
const MOST: usize = 100;

/// Keys and destinations, each with the floor from which it is to be read when it is wanted again.
#[derive(Debug, Default)]
pub(super) struct LeftOut(HashMap<Withheld, Position>);

impl LeftOut {
    /// Leaves this key out too, unless that would be too many.
    pub(super) fn add_key(&mut self, key: &KeyRef, floor: Position) {
        if self.0.len() < MOST {
            self.0.entry(Withheld::Key(key.clone())).or_insert(floor);
        }
    }

    /// Leaves this out, and reads it later from this floor if not from one below.
    pub(super) fn add_below(&mut self, withheld: Withheld, floor: Position) {
        let below = self.0.entry(withheld).or_insert(floor);
        *below = floor.min(*below);
    }

    /// Wants again what does not stay; returns the lowest of its floors.
    pub(super) fn keep(&mut self, stays: impl Fn(&Withheld) -> bool) -> Option<Position> {
        let mut lowest = None;
        self.0.retain(|withheld, floor| {
            let stays = stays(withheld);
            if !stays {
                lowest = Some(lowest.map_or(*floor, |lowest: Position| lowest.min(*floor)));
            }
            stays
        });
        lowest
    }

    /// Reads all of it from this floor if not from one below: what is there may be of these.
    pub(super) fn rewind(&mut self, floor: Position) {
        for below in self.0.values_mut() {
            *below = floor.min(*below);
        }
    }

    /// All of it.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Withheld> {
        self.0.keys()
    }

    /// Whether records of this key may be out of sight.
    pub(super) fn hides(&self, key: &KeyRef) -> bool {
        self.0.keys().any(|withheld| is_of(withheld, key))
    }

    /// Up to where the records of this key are read, in a lane that is read so far.
    pub(super) fn read_to(&self, key: &KeyRef, lane: Position) -> Position {
        let of_key = self.0.iter().filter(|(withheld, _)| is_of(withheld, key));
        of_key.map(|(_, floor)| *floor).fold(lane, Position::min)
    }
}

/// Whether it is about records of this key.
fn is_of(withheld: &Withheld, key: &KeyRef) -> bool {
    match withheld {
        Withheld::Destination { .. } => false,
        Withheld::Key(withheld) => withheld == key,
        Withheld::Ordered(topic) => *topic == key.topic,
    }
}
