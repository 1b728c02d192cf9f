//! What the store in memory does beyond the contract.

use std::num::NonZeroU32;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join;
use outbox_core::{
    EventId, Format, Lane, LaneLease, LaneRead, LeaseRequest, LeaseTime, OutboxMessage,
    OutboxRecord, OutboxStore, Outcome, OutcomeKind, Position, ReadMark, ReadRequest, Schedule,
    StagedMessage, StoreErrorKind, WorkerId,
};
use outbox_testing::{CommitOrder, ManualClock, MemoryStore, StoreCall};

use crate::memory_soon::soon;

const SECOND: Duration = Duration::from_secs(1);
const MICROSECOND: Duration = Duration::from_micros(1);
const ALMOST_A_SECOND: Duration = Duration::from_micros(999_999);

#[tokio::test]
async fn a_record_is_due_at_its_instant_and_not_a_microsecond_earlier() {
    let (clock, store) = store();
    store.stage_for(message(), Schedule::After(SECOND));

    clock.advance(ALMOST_A_SECOND);
    let early = read(&store).await;
    clock.advance(MICROSECOND);
    let in_time = read(&store).await;

    assert_eq!((early.len(), in_time.len()), (0, 1));
}

#[tokio::test]
async fn what_was_staged_since_a_savepoint_can_be_taken_back() {
    let (_, store) = store();
    let (kept, dropped, later) = (message(), message(), message());
    let ids = [kept.id, later.id];
    let mut transaction = store.begin();
    transaction.stage(StagedMessage { message: kept, schedule: Schedule::Now });
    let savepoint = transaction.savepoint();
    transaction.stage(StagedMessage { message: dropped, schedule: Schedule::Now });

    transaction.roll_back_to(savepoint);
    transaction.stage(StagedMessage { message: later, schedule: Schedule::Now });
    let committed = transaction.commit();

    assert_eq!(committed.iter().map(|record| record.id).collect::<Vec<_>>(), ids);
    let read: Vec<EventId> = read(&store).await.iter().map(|record| record.reference.id).collect();
    assert_eq!(read.len(), 2);
    assert!(ids.iter().all(|id| read.contains(id)));
}

#[tokio::test]
async fn a_lease_is_live_until_a_microsecond_before_its_end() {
    let (clock, store) = store();
    let first = lease(&store, SECOND).await;

    clock.advance(ALMOST_A_SECOND);
    let early = lease(&store, SECOND).await;
    let held = store.lanes();
    clock.advance(MICROSECOND);

    assert_eq!(early, []);
    assert_eq!(held.iter().map(|lane| lane.lease).collect::<Vec<_>>(), first);
    assert_eq!(store.lanes(), []);
    assert_eq!(lease(&store, SECOND).await.len(), 64);
}

#[tokio::test]
async fn a_lane_is_an_orphan_only_after_the_whole_time() {
    let (clock, store) = store();
    lease(&store, SECOND).await;
    let request = LeaseRequest { orphans: Some(SECOND), lanes: 0, ..lease_request(SECOND) };

    clock.advance(SECOND * 2);
    let early = store.lease(&request).await.unwrap();
    clock.advance(MICROSECOND);
    let in_time = store.lease(&request).await.unwrap();

    assert_eq!((early.len(), in_time.len()), (0, 64));
}

#[tokio::test]
async fn numbered_transactions_hold_the_horizon_until_they_end() {
    let store = MemoryStore::with_commit_order(&ManualClock::new(), CommitOrder::Numbered);
    let mut late = store.begin();
    late.stage(StagedMessage { message: message(), schedule: Schedule::Now });
    let seen = store.stage(message());
    let leases = lease(&store, SECOND).await;
    let stamp = settle_published(&store, &leases, &read(&store).await).await.unwrap();

    let open = horizon(&store).await;
    let late = late.commit();
    let ended = horizon(&store).await;

    assert!(open < stamp && stamp <= ended, "{open} {stamp} {ended}");
    assert!(late[0].position < seen.position, "it was to commit behind what was read");
}

#[tokio::test]
async fn a_transaction_that_staged_nothing_holds_no_horizon() {
    let store = MemoryStore::with_commit_order(&ManualClock::new(), CommitOrder::Numbered);
    let before = horizon(&store).await;

    let idle = store.begin();

    store.stage(message());
    assert!(horizon(&store).await > before);
    idle.commit();
}

#[tokio::test]
async fn a_dropped_transaction_is_rolled_back_and_frees_the_horizon() {
    let store = MemoryStore::with_commit_order(&ManualClock::new(), CommitOrder::Numbered);
    let mut dropped = store.begin();
    dropped.stage(StagedMessage { message: message(), schedule: Schedule::Now });
    let before = horizon(&store).await;

    drop(dropped);

    assert!(horizon(&store).await > before);
    assert_eq!(store.pending(), []);
}

#[tokio::test]
async fn each_commit_order_gives_its_mark() {
    for (commits, expected) in [
        (CommitOrder::Numbered, ReadMark::Horizon(1)),
        (CommitOrder::Ordered, ReadMark::Ordered),
        (CommitOrder::Unknown, ReadMark::Unknown),
    ] {
        let store = MemoryStore::with_commit_order(&ManualClock::new(), commits);

        let batch = store.read(&read_request()).await.unwrap();

        assert_eq!(batch.mark, expected);
    }
}

#[tokio::test]
async fn a_record_of_a_newer_format_is_left_to_a_newer_worker() {
    let (_, store) = store();
    let mut newer = message();
    newer.format = Format(Format::CURRENT.0 + 1);
    store.stage(newer);
    let known = store.stage(message());

    let records = read(&store).await;

    assert_eq!(records.iter().map(|record| record.reference).collect::<Vec<_>>(), [known]);
    assert_eq!(store.pending().len(), 2);
}

#[tokio::test]
async fn a_failure_that_was_planned_hits_one_call_and_changes_nothing() {
    let (_, store) = store();
    store.fail_next(StoreCall::Lease, StoreErrorKind::Conflict);

    let error = store.lease(&lease_request(SECOND)).await.unwrap_err();

    assert_eq!(error.kind(), StoreErrorKind::Conflict);
    assert_eq!(error.to_string(), "lease: another transaction was in the way");
    assert_eq!(store.lanes(), []);
    assert_eq!(lease(&store, SECOND).await.len(), 64);
}

#[tokio::test]
async fn a_call_whose_answer_is_lost_has_taken_effect() {
    let (_, store) = store();
    store.lose_next_answer(StoreCall::Lease);

    let error = store.lease(&lease_request(SECOND)).await.unwrap_err();

    assert_eq!(error.kind(), StoreErrorKind::Unavailable);
    assert_eq!(store.lanes().len(), 64);
}

#[tokio::test]
async fn a_breakdown_fails_every_call_until_it_ends() {
    let (_, store) = store();
    store.break_down(StoreErrorKind::Unavailable);

    let broken = [store.stats().await.is_err(), store.read(&read_request()).await.is_err()];
    store.recover();

    assert_eq!(broken, [true, true]);
    assert!(store.stats().await.is_ok());
}

#[tokio::test]
async fn a_paused_call_has_done_nothing_when_it_arrives() {
    let (_, store) = store();
    let gate = store.pause(StoreCall::Read);
    let request = read_request();

    let (batch, ()) = soon(join(store.read(&request), async {
        gate.arrived().await;
        store.stage(message());
        gate.release();
    }))
    .await;

    assert_eq!(batch.unwrap().records.len(), 1, "it reads what was staged meanwhile");
}

#[tokio::test]
async fn a_read_can_answer_after_the_settlement_of_what_it_saw() {
    let (_, store) = store();
    store.stage(message());
    let leases = lease(&store, SECOND).await;
    let records = read(&store).await;
    let gate = store.pause_answer(StoreCall::Read);
    let request = read_request();

    let (stale, ()) = soon(join(store.read(&request), async {
        gate.arrived().await;
        settle_published(&store, &leases, &records).await;
        gate.release();
    }))
    .await;

    assert_eq!(stale.unwrap().records, records, "the answer shows what is gone");
    assert_eq!(store.pending(), []);
}

#[tokio::test]
async fn dropping_a_gate_opens_it() {
    let (_, store) = store();

    drop(store.pause(StoreCall::Stats));

    assert!(store.stats().await.is_ok());
}

#[tokio::test]
async fn calls_are_counted_and_can_be_awaited() {
    let (_, store) = store();

    soon(join(store.called_at_least(StoreCall::Read, 2), async {
        read(&store).await;
        read(&store).await;
    }))
    .await;

    assert_eq!(store.calls(StoreCall::Read), 2);
    assert_eq!(store.calls(StoreCall::Settle), 0);
}

#[tokio::test]
async fn a_condition_on_the_outbox_can_be_awaited() {
    let (_, store) = store();

    soon(join(store.until(|store| store.pending().len() == 2), async {
        store.stage(message());
        let mut open = store.begin();
        open.stage(StagedMessage { message: message(), schedule: Schedule::Now });
        open.commit();
    }))
    .await;

    assert_eq!(store.pending().len(), 2);
}

#[tokio::test]
async fn a_store_may_go_by_the_clock_of_the_machine() {
    let store = MemoryStore::with_system_clock();
    store.stage_for(message(), Schedule::After(Duration::from_secs(3600)));
    let due = store.stage(message());

    let records = read(&store).await;

    assert_eq!(records.iter().map(|record| record.reference).collect::<Vec<_>>(), [due]);
}

#[tokio::test]
async fn the_text_of_a_dead_letter_is_cut_like_any_summary() {
    let (_, store) = store();
    store.stage(message());
    let leases = lease(&store, SECOND).await;
    let record = read(&store).await.remove(0);
    let kind = OutcomeKind::Dead {
        reason: outbox_core::DeadReason::Rejected,
        error: "ä\n".repeat(5000),
        parks_key: false,
    };

    store.settle(&[outcome(&leases, &record, kind)]).await.unwrap();

    let error = &store.dead_letters()[0].error;
    assert!(error.len() <= outbox_core::Failure::SUMMARY && !error.contains('\n'));
}

fn store() -> (ManualClock, MemoryStore) {
    let clock = ManualClock::new();
    let store = MemoryStore::new(&clock);
    (clock, store)
}

fn message() -> OutboxMessage {
    OutboxMessage::new(EventId::new(), "orders.placed", "orders", "shop", Bytes::from_static(b"{}"))
}

fn lease_request(time: Duration) -> LeaseRequest {
    let lease = LeaseTime::new(time).unwrap();
    LeaseRequest {
        owner: WorkerId::new(),
        lanes: Lane::COUNT,
        lease,
        orphans: None,
        except: Vec::new(),
        counts_abandoned: true,
    }
}

async fn lease(store: &MemoryStore, time: Duration) -> Vec<LaneLease> {
    store.lease(&lease_request(time)).await.unwrap()
}

fn read_request() -> ReadRequest {
    let from_start = |lane| LaneRead::new(lane, Position(0));
    ReadRequest {
        lanes: Lane::all().map(from_start).collect(),
        known: Vec::new(),
        without: Vec::new(),
        records: NonZeroU32::new(100).unwrap(),
        bytes: 1 << 20,
    }
}

async fn read(store: &MemoryStore) -> Vec<OutboxRecord> {
    store.read(&read_request()).await.unwrap().records
}

async fn horizon(store: &MemoryStore) -> u64 {
    match store.read(&read_request()).await.unwrap().mark {
        ReadMark::Horizon(horizon) => horizon,
        other => panic!("{other:?} is no horizon"),
    }
}

fn outcome(leases: &[LaneLease], record: &OutboxRecord, kind: OutcomeKind) -> Outcome {
    let lease = leases.iter().find(|lease| lease.lane == record.reference.lane).unwrap();
    Outcome { record: record.reference, token: lease.token, revision: record.revision, kind }
}

async fn settle_published(
    store: &MemoryStore,
    leases: &[LaneLease],
    records: &[OutboxRecord],
) -> Option<u64> {
    let published = |record| outcome(leases, record, OutcomeKind::Published);
    let outcomes: Vec<Outcome> = records.iter().map(published).collect();
    store.settle(&outcomes).await.unwrap().stamp
}
