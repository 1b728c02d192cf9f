//! Cases about lanes that workers die with.

use std::time::Duration;

use outbox_core::{LaneState, LeaseRequest, OutboxRecord, OutcomeKind, RecordRef, Suspect};

use super::fixture::StoreFixture;
use super::outbox::Outbox;
use super::sample::{
    HOUR, SHORT, dead, dead_head, failed, keyed, keyed_times, message, scheduled, strangers,
};

/// A lane whose lease ran out under another owner counts as abandoned, each time.
pub async fn a_lane_that_was_not_given_back_counts_as_abandoned(fixture: &dyn StoreFixture) {
    let record = staged(fixture).await;
    dies(fixture).await;
    dies(fixture).await;

    let third = Outbox::holding_all(fixture).await;

    assert_eq!(told(&third, &record).await.abandoned, 2);
}

/// A lane in which nothing was due at the takeover is not abandoned: nobody died of it.
pub async fn a_lane_with_nothing_due_is_not_abandoned(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    let schedule = outbox_core::Schedule::After(HOUR);
    outbox.stage([keyed("due"), scheduled(keyed("scheduled"), schedule)]).await;
    dies(fixture).await;

    let second = Outbox::holding_all(fixture).await;

    let states = second.store.acquired(&second.leases).await.unwrap();
    let due = outbox.read_one().await.reference.lane;
    for (lease, state) in second.leases.iter().zip(states) {
        assert_eq!(state.abandoned, u32::from(lease.lane == due), "{:?}", lease.lane);
    }
}

/// A record that waited until it was due makes its lane one that can be abandoned.
pub async fn a_lane_with_a_scheduled_record_that_is_due_is_abandoned(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    outbox.stage([scheduled(message(), outbox_core::Schedule::After(Duration::ZERO))]).await;
    let record = outbox.read_one().await;
    dies(fixture).await;

    let second = Outbox::holding_all(fixture).await;

    assert_eq!(told(&second, &record).await.abandoned, 1);
}

/// A lane that was given back is not abandoned, and what was counted before stays.
pub async fn a_lane_that_was_given_back_is_not_abandoned(fixture: &dyn StoreFixture) {
    let record = staged(fixture).await;
    dies(fixture).await;
    let second = Outbox::holding_all(fixture).await;
    second.release(&second.leases).await;

    let third = Outbox::holding_all(fixture).await;

    assert_eq!(told(&third, &record).await.abandoned, 1);
}

/// A worker that leases a lane again has not died.
pub async fn a_lane_that_its_owner_takes_again_is_not_abandoned(fixture: &dyn StoreFixture) {
    let record = staged(fixture).await;
    let mut worker = dies(fixture).await;

    worker.leases = worker.lease(64, HOUR).await;

    assert_eq!(told(&worker, &record).await.abandoned, 0);
}

/// Nothing is counted for a worker that was out of touch itself.
pub async fn nothing_is_abandoned_unless_it_is_to_be_counted(fixture: &dyn StoreFixture) {
    let record = staged(fixture).await;
    dies_with(fixture, record.reference).await;
    let mut second = Outbox::new(fixture);

    let request = second.lease_request(64, HOUR);
    second.leases = second.lease_as(&LeaseRequest { counts_abandoned: false, ..request }).await;

    let state = told(&second, &record).await;
    assert_eq!((state.abandoned, state.suspect), (0, Some(suspect(&record, 0))));
}

/// Whatever is settled first, the lane can be sent from: all of its losses are forgotten.
pub async fn a_settled_attempt_clears_its_lane(fixture: &dyn StoreFixture) {
    for kind in [OutcomeKind::Published, failed(Duration::ZERO), dead()] {
        let staged = Outbox::new(fixture);
        staged.stage([message()]).await;
        let record = staged.read_one().await;
        dies_with(fixture, record.reference).await;
        let worker = Outbox::holding_all(fixture).await;
        let before = told(&worker, &record).await;
        assert_eq!((before.abandoned, before.suspect), (1, Some(suspect(&record, 1))));

        let settled = worker.settle(&record, kind.clone()).await;

        assert_eq!(settled.applied, [record.reference]);
        let after = told(&worker, &record).await;
        assert_eq!((after.abandoned, after.suspect), (0, None), "{kind:?}");
        for left in worker.read().await {
            worker.settle(&left, OutcomeKind::Published).await;
        }
        worker.release(&worker.leases).await;
    }
}

/// One lane is cleared, and no other.
pub async fn a_settled_attempt_clears_no_other_lane(fixture: &dyn StoreFixture) {
    let (one, other) = strangers();
    let outbox = Outbox::new(fixture);
    outbox.stage([keyed(&one), keyed(&other)]).await;
    let records = outbox.read().await;
    dies(fixture).await;
    let worker = Outbox::holding_all(fixture).await;

    worker.settle(&records[0], OutcomeKind::Published).await;

    assert_eq!(told(&worker, &records[0]).await.abandoned, 0);
    assert_eq!(told(&worker, &records[1]).await.abandoned, 1);
}

/// An outcome that changes nothing, or only parks its record, says nothing of the lane.
pub async fn what_is_no_attempt_clears_nothing(fixture: &dyn StoreFixture) {
    let first = Outbox::holding_all(fixture).await;
    first.stage(keyed_times("key", 2)).await;
    let records = first.read().await;
    first.settle(&records[0], dead_head()).await;
    first.release(&first.leases).await;
    dies(fixture).await;
    let worker = Outbox::holding_all(fixture).await;

    let repeated = worker.settle(&records[0], OutcomeKind::Published).await;
    assert!(repeated.applied.is_empty(), "it is dead");
    let parked = worker.settle(&records[1], OutcomeKind::Parked).await;
    assert_eq!(parked.applied, [records[1].reference]);

    assert_eq!(told(&worker, &records[1]).await.abandoned, 1);
}

/// Whoever takes the lane of a worker that died with a mark learns of the record and its deaths.
pub async fn a_death_counts_against_the_marked_record(fixture: &dyn StoreFixture) {
    let record = staged(fixture).await;
    for _ in 0..3 {
        dies_with(fixture, record.reference).await;
    }

    let fourth = Outbox::holding_all(fixture).await;

    let state = told(&fourth, &record).await;
    assert_eq!((state.abandoned, state.suspect), (3, Some(suspect(&record, 3))));
}

/// A mark is its owner's: a successor that dies without one of its own proves nothing.
pub async fn a_mark_ends_with_its_lease(fixture: &dyn StoreFixture) {
    let record = staged(fixture).await;
    dies_with(fixture, record.reference).await;
    dies(fixture).await;

    let third = Outbox::holding_all(fixture).await;

    let state = told(&third, &record).await;
    assert_eq!((state.abandoned, state.suspect), (2, Some(suspect(&record, 1))));
}

/// A worker that outlived the send takes its mark back, and dies of something else.
pub async fn a_mark_that_was_taken_back_counts_nothing(fixture: &dyn StoreFixture) {
    let record = staged(fixture).await;
    dies_with(fixture, record.reference).await;
    let second = Outbox::new(fixture);
    holds_until(&second, async |worker| {
        mark(worker, record.reference).await && take_back(worker, record.reference).await
    })
    .await;

    let third = Outbox::holding_all(fixture).await;

    assert_eq!(told(&third, &record).await.suspect, Some(suspect(&record, 1)));
}

/// A worker that gives its lanes back has not died, whatever it had marked.
pub async fn a_release_counts_no_death(fixture: &dyn StoreFixture) {
    let record = staged(fixture).await;
    dies_with(fixture, record.reference).await;
    let second = Outbox::holding_all(fixture).await;
    assert!(mark(&second, record.reference).await, "the lane is held");
    second.release(&second.leases).await;
    dies(fixture).await;

    let fourth = Outbox::holding_all(fixture).await;

    assert_eq!(told(&fourth, &record).await.suspect, Some(suspect(&record, 1)));
}

/// Deaths are of one record: the mark of another begins anew.
pub async fn another_suspect_has_no_deaths(fixture: &dyn StoreFixture) {
    let outbox = Outbox::new(fixture);
    outbox.stage(keyed_times("key", 2)).await;
    let [first, second]: [OutboxRecord; 2] = outbox.read().await.try_into().unwrap();
    dies_with(fixture, first.reference).await;
    dies_with(fixture, second.reference).await;

    let third = Outbox::holding_all(fixture).await;

    assert_eq!(told(&third, &second).await.suspect, Some(suspect(&second, 1)));
}

/// A lease that is over, was superseded or given back marks nothing, and its owner learns that.
pub async fn a_lost_lease_marks_nothing(fixture: &dyn StoreFixture) {
    let record = staged(fixture).await;
    let first = dies(fixture).await;
    assert!(!mark(&first, record.reference).await, "its lease is over");
    let second = Outbox::holding_all(fixture).await;
    assert!(!mark(&first, record.reference).await, "its lane is another's");
    assert!(!take_back(&first, record.reference).await, "its lane is another's");

    assert_eq!(told(&second, &record).await.suspect, None);
    second.release(&second.leases).await;
    assert!(!mark(&second, record.reference).await, "its lane was given back");
    let third = Outbox::holding_all(fixture).await;
    assert_eq!(told(&third, &record).await.suspect, None);
}

async fn staged(fixture: &dyn StoreFixture) -> OutboxRecord {
    let outbox = Outbox::new(fixture);
    outbox.stage([message()]).await;
    outbox.read_one().await
}

/// A worker that leased all lanes and dies: its leases are over.
async fn dies(fixture: &dyn StoreFixture) -> Outbox<'_> {
    let worker = Outbox::holding_all_for(fixture, SHORT).await;
    fixture.pass(SHORT).await;
    worker
}

/// A worker that leased all lanes, marks this record and dies.
async fn dies_with(fixture: &dyn StoreFixture, record: RecordRef) {
    holds_until(&Outbox::new(fixture), async |worker| mark(worker, record).await).await;
}

/// Leases all lanes until the calls are through in time, and lets the leases run out.
///
/// A loaded database may take longer than the shortest lease. Leasing once more as the same worker
/// counts nothing.
async fn holds_until(worker: &Outbox<'_>, calls: impl AsyncFn(&Outbox<'_>) -> bool) {
    let mut time = SHORT;
    loop {
        let leases = worker.lease(64, time).await;
        let holder = Outbox { leases, store: worker.store.clone(), ..*worker };
        let done = calls(&holder).await;
        worker.pass(time).await;
        if done {
            return;
        }
        time *= 2;
    }
}

async fn mark(worker: &Outbox<'_>, record: RecordRef) -> bool {
    let lease = worker.leases.iter().find(|lease| lease.lane == record.lane).unwrap();
    worker.store.mark_suspect(lease, Some(record)).await.unwrap()
}

async fn take_back(worker: &Outbox<'_>, record: RecordRef) -> bool {
    let lease = worker.leases.iter().find(|lease| lease.lane == record.lane).unwrap();
    worker.store.mark_suspect(lease, None).await.unwrap()
}

/// What the owner is told of the record's lane.
async fn told(worker: &Outbox<'_>, record: &OutboxRecord) -> LaneState {
    let of_record = |lease: &&outbox_core::LaneLease| lease.lane == record.reference.lane;
    let lease = *worker.leases.iter().find(of_record).unwrap();
    worker.store.acquired(&[lease]).await.unwrap().remove(0)
}

fn suspect(record: &OutboxRecord, deaths: u32) -> Suspect {
    Suspect { position: record.reference.position, deaths }
}
