//! Whether anything is left to do.

use super::desk::{Desk, Running};
use super::lane_window::LaneWindow;
use super::tend::count;

impl Desk {
    /// Whether all that can be sent now was sent, and that is written.
    pub(super) fn is_idle(&self) -> bool {
        self.has_its_lanes()
            && self.all_written()
            && !self.has_more_to_read()
            && !self.has_to_send()
    }

    /// Whether its part of the lanes is in its hands, and the rest in those of workers that live: one
    /// that died before this run began counts, and has its lanes, for a lease.
    fn has_its_lanes(&self) -> bool {
        let knows = self.contact.answered_since(self.begun + self.lease.duration());
        let met = self.has_met_others && (self.fleet.sharing <= 1 || knows);
        met && count(self.lanes.len()) >= self.due_share()
    }

    fn has_more_to_read(&self) -> bool {
        let destinations: Vec<_> = self.destinations.withheld().collect();
        let exhausted =
            |lane: &LaneWindow| lane.is_exhausted() && !lane.lacks_withheld(&destinations);
        let mut reads = self.running.values().filter(|work| matches!(work, Running::Read(_)));
        reads.next().is_some() || !self.lanes.values().all(exhausted)
    }

    /// Whether something is in flight or may be sent without a repair.
    fn has_to_send(&self) -> bool {
        let in_flight = self.destinations.in_flight().calls > 0;
        let waits_for_lease = self.lanes.values().any(|lane| !lane.stale.is_empty());
        let sendable = !self.credentials.is_broken() && self.destinations.has_sendable();
        in_flight || waits_for_lease || sendable
    }
}
