//! Cases about the very instants at which something becomes due or ends.
//!
//! They are for a store by a supplied clock, which stands still until [`StoreFixture::pass`] moves it
//! by exactly that long.

use std::num::NonZeroU32;
use std::time::Duration;

use outbox_core::{
    Fleet, Format, Lane, LeaseRequest, OutcomeKind, ReadRequest, Schedule, WorkerCard,
};

use super::fixture::StoreFixture;
use super::outbox::{Outbox, ids, only, staged_ids};
use super::sample::{HOUR, failed, keyed, keyed_times, message, scheduled};
use super::stats::agrees;

/// The smallest time that a store tells apart.
pub(super) const MICROSECOND: Duration = Duration::from_micros(1);
/// An hour but for that.
pub(super) const ALMOST_AN_HOUR: Duration = Duration::from_micros(3_600_000_000 - 1);

/// A clock that is not moved stands still, and one that is moved goes on by exactly that long.
pub async fn the_clock_stands_still_until_it_is_moved(fixture: &dyn StoreFixture) {
    let start = fixture.now().await;
    let still = fixture.now().await;

    fixture.pass(MICROSECOND).await;

    assert_eq!(still, start);
    assert_eq!(fixture.now().await, start + MICROSECOND);
}

/// A record is due at the very instant that was asked for.
pub async fn a_record_is_due_at_its_very_instant(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let staged = scheduled(message(), Schedule::At(fixture.now().await + HOUR));
    outbox.stage([staged.clone()]).await;
    outbox.pass(HOUR).await;

    let records = outbox.read().await;

    assert_eq!(ids(&records), [staged.message.id]);
}

/// A record is not due a microsecond before the instant that was asked for.
pub async fn a_record_is_not_due_a_microsecond_early(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    outbox.stage([scheduled(message(), Schedule::At(fixture.now().await + HOUR))]).await;
    outbox.pass(ALMOST_AN_HOUR).await;

    let records = outbox.read().await;

    assert_eq!(records, []);
}

/// A record counts as ready from the very instant on at which it is due, and has no age then.
pub async fn a_record_counts_as_ready_from_its_very_instant_on(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    outbox.stage([scheduled(message(), Schedule::At(fixture.now().await + HOUR))]).await;
    outbox.pass(ALMOST_AN_HOUR).await;

    let before = outbox.stats().await;
    outbox.pass(MICROSECOND).await;
    let at = outbox.stats().await;

    assert!(agrees(before.ready, 0) && agrees(before.scheduled, 1), "{before:?}");
    assert!(agrees(at.ready, 1) && agrees(at.scheduled, 0), "{at:?}");
    assert_eq!(before.oldest_ready, None);
}

/// At the very end of a lease its owner can do nothing with it, and its lane is free.
pub async fn a_lease_is_over_at_its_very_end(fixture: &dyn StoreFixture) {
    let owner = Outbox::holding_all(fixture).await;
    owner.stage([message()]).await;
    let record = owner.read_one().await;
    owner.pass(HOUR).await;

    let settled = owner.settle(&record, OutcomeKind::Published).await;
    let renewed = owner.renew(&owner.leases, HOUR).await;
    let marked = owner.store.mark_suspect(&owner.leases[0], None).await.unwrap();
    let free = heartbeat(&owner).await.free;
    let taken = Outbox::new(fixture).lease(Lane::COUNT, HOUR).await;

    assert_eq!((settled.applied, settled.lost.len()), (vec![], 1));
    assert_eq!(renewed, []);
    assert!(!marked);
    assert_eq!((free, taken.len()), (64, 64));
}

/// A microsecond before the end of a lease its owner can still do everything, and nobody else gets
/// its lane.
pub async fn a_lease_is_live_a_microsecond_before_its_end(fixture: &dyn StoreFixture) {
    let owner = Outbox::holding_all(fixture).await;
    owner.stage([message()]).await;
    let record = owner.read_one().await;
    owner.pass(ALMOST_AN_HOUR).await;

    let taken = Outbox::new(fixture).lease(Lane::COUNT, HOUR).await;
    let free = heartbeat(&owner).await.free;
    let marked = owner.store.mark_suspect(&owner.leases[0], None).await.unwrap();
    let settled = owner.settle(&record, OutcomeKind::Published).await;
    let renewed = owner.renew(&owner.leases, HOUR).await;

    assert_eq!((free, taken), (0, vec![]));
    assert!(marked);
    assert_eq!(settled.applied, [record.reference]);
    assert_eq!(renewed, owner.leases);
}

/// A renewal counts from the instant at which it is made.
pub async fn a_renewed_lease_ends_so_long_after_its_renewal(fixture: &dyn StoreFixture) {
    let owner = Outbox::holding_all(fixture).await;
    owner.pass(HOUR / 2).await;
    owner.renew(&owner.leases, HOUR).await;
    let other = Outbox::new(fixture);

    owner.pass(ALMOST_AN_HOUR).await;
    let before = other.lease(1, HOUR).await;
    owner.pass(MICROSECOND).await;
    let at = other.lease(1, HOUR).await;

    assert_eq!((before.len(), at.len()), (0, 1));
}

/// A lane that was given back is an orphan once it was free for longer than a lease.
pub async fn a_lane_is_an_orphan_a_microsecond_after_a_lease(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all(fixture).await;
    outbox.release(&outbox.leases).await;
    let orphans = LeaseRequest { orphans: Some(HOUR), ..outbox.lease_request(0, HOUR) };

    outbox.pass(HOUR).await;
    let before = outbox.lease_as(&orphans).await;
    outbox.pass(MICROSECOND).await;
    let after = outbox.lease_as(&orphans).await;

    assert_eq!((before.len(), after.len()), (0, 64));
}

/// A failed record is due at the very end of its delay, which counts from its settlement; until then
/// a new owner is told how long that is.
pub async fn a_failed_record_is_due_at_the_very_end_of_its_delay(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all_for(fixture, HOUR * 2).await;
    outbox.stage([keyed("key")]).await;
    let record = outbox.read_one().await;
    outbox.settle(&record, failed(HOUR)).await;
    let failed_at = fixture.now().await;

    outbox.pass(ALMOST_AN_HOUR).await;
    let before = outbox.read().await;
    let states = outbox.store.acquired(&outbox.leases).await.unwrap();
    outbox.pass(MICROSECOND).await;
    let at = outbox.read_one().await;

    let waiting = only(states.into_iter().flat_map(|state| state.waiting).collect());
    assert_eq!(before, []);
    assert_eq!(waiting.due_in, MICROSECOND);
    assert_eq!(at.available_at, Some(failed_at + HOUR));
    assert_eq!((at.first_failed_at, at.failing_for), (Some(failed_at), HOUR));
}

/// Records that are due at one instant are read by position, however few a read takes and in whatever
/// order they were written.
pub async fn records_of_one_instant_are_read_by_position(fixture: &dyn StoreFixture) {
    let outbox = Outbox::holding_all_for(fixture, HOUR * 2).await;
    let staged = keyed_times("key", 5);
    outbox.stage(staged.clone()).await;
    for record in outbox.read().await.iter().rev() {
        outbox.settle(record, failed(HOUR)).await;
    }
    outbox.pass(HOUR).await;
    let two = ReadRequest { records: NonZeroU32::new(2).unwrap(), ..Outbox::read_request() };

    let mut read = Vec::new();
    while read.len() < staged.len() {
        let records = outbox.read_as(&two).await.records;
        read.extend(ids(&records));
        assert!(!records.is_empty(), "{read:?}");
        for record in &records {
            outbox.settle(record, OutcomeKind::Published).await;
        }
    }

    assert_eq!(read, staged_ids(&staged));
}

/// A lane counts as abandoned if a record in it becomes due at the very instant at which it is taken
/// over, and not a microsecond before.
pub async fn a_lane_is_abandoned_from_the_instant_on_at_which_it_has_due(
    fixture: &dyn StoreFixture,
) {
    let due = fixture.now().await + HOUR;
    Outbox::new(fixture).stage([scheduled(keyed("key"), Schedule::At(due))]).await;
    Outbox::holding_all_for(fixture, HOUR / 2).await;

    fixture.pass(ALMOST_AN_HOUR).await;
    let before = abandoned(&Outbox::holding_all_for(fixture, MICROSECOND * 1000).await).await;
    fixture.pass(MICROSECOND * 1000).await;
    let after = abandoned(&Outbox::holding_all(fixture).await).await;

    assert_eq!((before, after), (0, 1));
}

/// A worker counts as gone at the very end of the time for which it counts as alive.
pub async fn a_worker_is_gone_at_the_very_end_of_its_time(fixture: &dyn StoreFixture) {
    let silent = Outbox::new(fixture);
    heartbeat(&silent).await;
    let other = Outbox::new(fixture);

    silent.pass(ALMOST_AN_HOUR).await;
    let before = heartbeat(&other).await.sharing;
    silent.pass(MICROSECOND).await;
    let at = heartbeat(&other).await.sharing;

    assert_eq!((before, at), (2, 1));
}

async fn heartbeat(outbox: &Outbox<'_>) -> Fleet {
    let card = WorkerCard {
        id: outbox.owner,
        version: "0.1.0".to_owned(),
        max_format: Format::CURRENT,
        topics: Vec::new(),
        lacks: Vec::new(),
        wants_lanes: Some(1),
        alive_for: HOUR,
    };
    outbox.store.heartbeat(&card).await.unwrap()
}

/// How often lanes were abandoned, of all that are held together.
async fn abandoned(outbox: &Outbox<'_>) -> u32 {
    let states = outbox.store.acquired(&outbox.leases).await.unwrap();
    states.iter().map(|state| state.abandoned).sum()
}
