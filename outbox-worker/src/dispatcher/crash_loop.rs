//! Finding the record that kills its workers.
//!
//! A lane that worker after worker left without settling anything may hold such a record. While it
//! has something to send, the whole process sends that alone, marked in the store: should the process
//! die, its successor knows of what. Each of these sends settles something, which clears the lane, or
//! shuts a gate, or ends the process. So the others are soon sent side by side again.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use outbox_core::{
    DeadReason, Lane, LaneLease, LaneState, Position, RecordRef, StoreError, Suspect,
};
use tokio::time::Instant;

use super::desk::{Answer, Desk, Running, StoreTrouble, bounded};
use super::held::Held;
use super::lane_window::LaneWindow;
use super::publish::keep_sendable;
use crate::gate::Passage;

/// From so many abandonments on, a lane is sent from with caution.
const ABANDONED: u32 = 3;

/// So many workers that died while they sent it alone are proof against a record.
const DEATHS: u32 = 3;

/// What workers before this one left in a lane.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    abandoned: u32,
    suspect: Option<Suspect>,
}

impl Losses {
    pub(super) const fn of(state: &LaneState) -> Self {
        Self { abandoned: state.abandoned, suspect: state.suspect }
    }

    const fn needs_caution(&self) -> bool {
        self.abandoned >= ABANDONED
    }

    fn deaths(&self, position: Position) -> u32 {
        self.suspect.filter(|suspect| suspect.position == position).map_or(0, |it| it.deaths)
    }
}

/// The record that is sent alone, if any.
#[derive(Debug)]
pub(super) struct CrashLoop {
    alone: Option<Alone>,
    /// Whether it is said that one may be under way.
    said: bool,
    trouble: StoreTrouble,
    not_before: Instant,
}

/// How far it is. Nothing else is sent meanwhile.
#[derive(Clone, Copy, Debug)]
enum Alone {
    /// Its mark is being written, or taken back.
    Marking,
    /// It is with the publisher.
    Sending(LaneLease),
    /// It came back, or its mark may be written without it being sent.
    Back(LaneLease),
}

impl CrashLoop {
    pub(super) const fn new(now: Instant) -> Self {
        Self { alone: None, said: false, trouble: StoreTrouble::of("mark"), not_before: now }
    }

    /// When a mark that failed is tried again.
    pub(super) fn next_try(&self) -> Option<Instant> {
        Some(self.not_before).filter(|at| *at > Instant::now())
    }
}

impl Desk {
    /// Goes on with the record that is sent alone. Says whether nothing else may be sent now.
    pub(super) fn sends_alone(&mut self, now: Instant) -> bool {
        self.say_caution();
        let is_over = match self.crash_loop.alone {
            Some(Alone::Marking | Alone::Sending(_)) => false,
            Some(Alone::Back(lease)) => self.is_over(lease, now),
            None => true,
        };
        if !is_over {
            return true;
        }
        self.crash_loop.alone = None;
        let Some(record) = self.first_with_caution(now) else { return false };
        // What is under way ends first, so that a death can only be of this record.
        let others_end = self.destinations.in_flight().calls == 0 && self.all_written();
        if others_end && self.crash_loop.not_before <= now {
            self.mark_first(record);
        }
        true
    }

    /// Whether all is written about the record that came back. If its lane is still not cleared, no
    /// outcome of it was: then the mark is taken back before anything else is sent.
    fn is_over(&mut self, lease: LaneLease, now: Instant) -> bool {
        let held = self.lanes.get(&lease.lane).filter(|window| window.lease == lease);
        if !held.is_some_and(|window| window.losses.needs_caution()) {
            return true;
        }
        if self.all_written() && self.crash_loop.not_before <= now {
            self.mark(lease, None);
        }
        false
    }

    /// The record that is sent next, if one of a lane with losses can be: the one with most deaths.
    fn first_with_caution(&self, now: Instant) -> Option<RecordRef> {
        if !self.crash_loop.said || self.credentials.passage(now) == Passage::Shut {
            return None;
        }
        let rank = |held: &Held| {
            let RecordRef { lane, position, .. } = held.reference();
            let window = self.lanes.get(&lane)?;
            let sendable = window.lease.token == held.token && !window.closing;
            let losses = Some(window.losses).filter(|losses| sendable && losses.needs_caution())?;
            Some((Reverse(losses.deaths(position)), lane, position))
        };
        self.destinations.first(now, rank).map(Held::reference)
    }

    fn mark_first(&mut self, record: RecordRef) {
        if let Some(window) = self.lanes.get(&record.lane) {
            self.mark(window.lease, Some(record));
        }
    }

    fn mark(&mut self, lease: LaneLease, record: Option<RecordRef>) {
        self.crash_loop.alone = Some(Alone::Marking);
        let store = Arc::clone(&self.parts.store);
        let limit = self.parts.settings.store_timeout;
        let span = tracing::info_span!("outbox.mark_suspect", lane = lease.lane.number());
        self.spawn(Running::Mark(lease, record), span, async move {
            Answer::Marked(bounded(limit, store.mark_suspect(&lease, record)).await)
        });
    }

    pub(super) fn take_marked(
        &mut self,
        lease: LaneLease,
        record: Option<RecordRef>,
        answer: Result<bool, StoreError>,
    ) {
        match answer {
            Ok(held) => {
                self.crash_loop.trouble.worked(&self.parts);
                self.crash_loop.alone = None;
                if !held {
                    self.lose_lease(lease);
                } else if let Some(record) = record {
                    self.crash_loop.alone = Some(self.send_marked(lease, record));
                }
            }
            Err(error) => {
                let now = Instant::now();
                self.crash_loop.trouble.failed(&self.parts, now, &error);
                self.crash_loop.not_before = now + self.crash_loop.trouble.pause();
                self.crash_loop.alone = Some(Alone::Back(lease));
            }
        }
    }

    /// Sends the record whose mark is written, if it still may be sent.
    fn send_marked(&mut self, lease: LaneLease, record: RecordRef) -> Alone {
        let now = Instant::now();
        let passage = self.credentials.passage(now);
        if passage == Passage::Shut || self.draining {
            return Alone::Back(lease);
        }
        let reserve = self.parts.settings.send_reserve();
        let lanes = &mut self.lanes;
        let usable = |held| keep_sendable(lanes, held, now, reserve);
        let Some(call) = self.destinations.begin_call_with(now, record, usable) else {
            return Alone::Back(lease);
        };
        self.begin_send(call, passage);
        Alone::Sending(lease)
    }

    /// A send has ended, and nothing else was sent beside the one that is sent alone.
    pub(super) const fn take_back_alone(&mut self) {
        if let Some(Alone::Sending(lease)) = self.crash_loop.alone {
            self.crash_loop.alone = Some(Alone::Back(lease));
        }
    }

    /// Makes a record a dead letter that killed as many workers as is proof; false for any other.
    pub(super) fn gives_up_suspect(&mut self, held: &Held) -> bool {
        let RecordRef { lane, position, .. } = held.reference();
        let deaths = self.lanes.get(&lane).map_or(0, |window| window.losses.deaths(position));
        if deaths < DEATHS {
            return false;
        }
        let error = format!("{deaths} workers died one after another while they sent it alone");
        let ticket = held.ticket();
        let dead = self.dead_letter(&ticket, DeadReason::WorkerLost, error);
        self.write_unsent(&ticket, dead);
        true
    }

    /// One line when it begins, and one when it ends.
    fn say_caution(&mut self) {
        let lanes = count_cautious(&self.lanes);
        if self.crash_loop.said == (lanes > 0) {
            return;
        }
        self.crash_loop.said = lanes > 0;
        if lanes > 0 {
            tracing::warn!(
                lanes,
                "workers died again and again and settled nothing: records of these lanes are sent \
                 one at a time"
            );
        } else {
            tracing::info!("no lane is left that workers died with: records are sent as usual");
        }
    }
}

fn count_cautious(lanes: &BTreeMap<Lane, LaneWindow>) -> usize {
    lanes.values().filter(|window| window.losses.needs_caution()).count()
}
