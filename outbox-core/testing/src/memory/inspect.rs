//! What a test can see of the outbox.

use chrono::{DateTime, Utc};
use outbox_core::{
    ClaimToken, DeadReason, KeyRef, LaneLease, OutboxRecord, Position, RecordRef, WorkerId,
};

use super::MemoryStore;
use super::claim::Claim;

/// A record that will not be tried again by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct DeadLetter {
    /// The record; what killed it is counted as a failure.
    pub record: OutboxRecord,
    /// Why it died.
    pub reason: DeadReason,
    /// Summary for the operator.
    pub error: String,
    /// When it died, by the store's clock.
    pub died_at: DateTime<Utc>,
}

/// A record under a claim of its own, be the claim live or over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldRecord {
    /// The record.
    pub record: RecordRef,
    /// Fencing token of the claim.
    pub token: ClaimToken,
    /// Who claimed it.
    pub owner: WorkerId,
    /// When the claim ends, by the store's clock.
    pub expires_at: DateTime<Utc>,
}

/// A lane under a live lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldLane {
    /// The lease.
    pub lease: LaneLease,
    /// Who holds it.
    pub owner: WorkerId,
    /// When it ends, by the store's clock.
    pub expires_at: DateTime<Utc>,
}

impl MemoryStore {
    /// Records that are still to be sent, due or not, in order of position.
    pub fn pending(&self) -> Vec<OutboxRecord> {
        by_position(self.state().rows.values().map(|row| row.record.clone()), position)
    }

    /// Dead letters in order of position.
    pub fn dead_letters(&self) -> Vec<DeadLetter> {
        by_position(self.state().dead.values().cloned(), |letter| position(&letter.record))
    }

    /// Records that wait behind a dead head, in order of position.
    pub fn parked(&self) -> Vec<OutboxRecord> {
        by_position(self.state().parked.values().cloned(), position)
    }

    /// Keys whose head is dead, each with that head.
    pub fn parked_keys(&self) -> Vec<(KeyRef, RecordRef)> {
        self.state().parked_keys.clone()
    }

    /// Lanes under a live lease, in order.
    pub fn lanes(&self) -> Vec<HeldLane> {
        let now = self.now();
        let state = self.state();
        let live = state.lanes.iter().filter(|(_, slot)| slot.is_live(now));
        live.filter_map(|(lane, slot)| {
            let lease = LaneLease { lane: *lane, token: slot.token? };
            Some(HeldLane { lease, owner: slot.owner?, expires_at: slot.expires_at? })
        })
        .collect()
    }

    /// Records under a claim, by lane and position. One that is over stands until somebody takes the
    /// record over or acquires its lane.
    pub fn claims(&self) -> Vec<HeldRecord> {
        let held = |claim: &Claim| {
            let Claim { record, token, owner, expires_at } = *claim;
            HeldRecord { record, token, owner, expires_at }
        };
        self.state().claims.values().map(held).collect()
    }

    /// Returns once the condition holds. It is asked at once and again after each call.
    pub async fn until(&self, condition: impl Fn(&Self) -> bool) {
        let mut changes = self.shared.changes.subscribe();
        // The channel is this store's own, so it stays open.
        while !condition(self) && changes.changed().await.is_ok() {}
    }

    /// Makes a stored row undecodable, for this reason; false if there is no such record.
    pub fn damage(&self, record: RecordRef, error: &str) -> bool {
        self.change(|state| {
            let row = state.rows.get_mut(&(record.lane, record.position));
            row.is_some_and(|row| row.damage.replace(error.to_owned()).is_none())
        })
    }
}

fn position(record: &OutboxRecord) -> Position {
    record.reference.position
}

fn by_position<T>(items: impl Iterator<Item = T>, position: impl Fn(&T) -> Position) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.sort_by_key(position);
    items
}
