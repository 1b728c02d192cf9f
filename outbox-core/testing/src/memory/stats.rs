//! Figures of the outbox and of its workers.

use chrono::{DateTime, Utc};
use outbox_core::{Count, Fleet, OutboxStats, WorkerCard};

use super::state::{Row, Sighting, State};
use crate::clock::{between, later};

impl State {
    pub(super) fn stats(&self, now: DateTime<Utc>) -> OutboxStats {
        let waits = |row: &&Row| !row.is_due(now);
        let ready: Vec<&Row> = self.rows.values().filter(|row| row.is_due(now)).collect();
        let failed = |row: &&Row| row.record.attempts > 0;
        let mut stats = OutboxStats::UNAVAILABLE;
        stats.ready = exact(ready.len());
        stats.oldest_ready = ready.iter().map(|row| between(row.due_since(), now)).max();
        stats.retrying = exact(self.rows.values().filter(waits).filter(failed).count());
        stats.scheduled =
            exact(self.rows.values().filter(waits).filter(|row| !failed(row)).count());
        stats.parked = exact(self.parked.len());
        stats.dead = exact(self.dead.len());
        stats
    }

    pub(super) fn heartbeat(&mut self, worker: &WorkerCard, now: DateTime<Utc>) -> Fleet {
        self.workers.insert(worker.id, Sighting { card: worker.clone(), seen_at: now });
        let free = self.lanes.values().filter(|slot| !slot.is_live(now)).count();
        let free = u8::try_from(free).unwrap_or(u8::MAX);
        let mut fleet = Fleet { free, stamp: self.stamp(), ..Fleet::default() };
        for Sighting { card, seen_at } in self.workers.values() {
            let alive = later(*seen_at, card.alive_for) > now;
            let Some(lacks) = card.wants_lanes.filter(|_| alive) else { continue };
            fleet.sharing += 1;
            if card.id != worker.id {
                fleet.wanted += u32::from(lacks);
                let routed = worker.lacks.iter().filter(|topic| card.routes(topic));
                fleet.routed.extend(routed.cloned());
            }
        }
        fleet.routed.sort_unstable();
        fleet.routed.dedup();
        fleet
    }
}

fn exact(count: usize) -> Count {
    u64::try_from(count).map_or(Count::Unavailable, Count::Exact)
}
