//! A record that kills its workers is found, and nothing else is blamed.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use outbox_core::{
    DeadReason, EventId, FailureKind, LaneLease, LaneState, LeaseRequest, LeaseTime, OutboxMessage,
    OutboxStore, StoreErrorKind, WorkerId,
};
use outbox_testing::{MemoryStore, StoreCall, Times};

use crate::deadly::{Deadly, POISON};
use crate::logs::listen;
use crate::rig::{Rig, failure, message, ordered, within};

const BEGINS: &str = "workers died again and again";
const ENDS: &str = "records are sent as usual";

fn poison(mut message: OutboxMessage) -> OutboxMessage {
    message.event_type = POISON.into();
    message
}

/// What the store tells of all lanes. Asked for nothing that is over, it changes nothing.
async fn told(store: &MemoryStore) -> Vec<LaneState> {
    let token = outbox_core::LeaseToken::new();
    let leases: Vec<LaneLease> =
        outbox_core::Lane::all().map(|lane| LaneLease { lane, token }).collect();
    store.acquired(&leases).await.unwrap()
}

async fn abandoned(store: &MemoryStore) -> u32 {
    told(store).await.iter().map(|state| state.abandoned).sum()
}

/// Worker after worker takes all lanes and dies without settling anything. Whoever takes them next
/// is told of so many.
async fn abandon(rig: &Rig, times: usize) {
    let lease = Duration::from_millis(100);
    for _ in 0..times {
        let request = LeaseRequest {
            owner: WorkerId::new(),
            lanes: 64,
            lease: LeaseTime::new(lease).unwrap(),
            orphans: None,
            except: Vec::new(),
            counts_abandoned: true,
        };
        assert_eq!(rig.store.lease(&request).await.unwrap().len(), 64);
        rig.pass(lease * 2).await;
    }
}

/// A8 (a): every lane is in flight whenever a worker dies, so that every lane counts.
#[tokio::test(start_paused = true)]
async fn a_record_that_kills_its_workers_becomes_a_dead_letter_and_no_other_does() {
    let mut rig = Rig::new();
    rig.settings.concurrency = std::num::NonZeroUsize::new(256).unwrap();
    // The first of its lane: one that stands behind others is suspected once they are sent.
    let poison = rig.store.stage(poison(message("orders"))).id;
    let innocent: HashSet<EventId> =
        (0..100).map(|_| rig.store.stage(message("orders")).id).collect();
    let deadly = Arc::new(Deadly::default());

    let last = deadly.until(&rig, "an empty outbox", |store| store.pending().is_empty()).await;

    let [dead] = &rig.store.dead_letters()[..] else { panic!("{:?}", rig.store.dead_letters()) };
    assert_eq!((dead.record.reference.id, dead.reason), (poison, DeadReason::WorkerLost));
    assert_eq!(deadly.deaths(), 6, "three deaths raise the suspicion, three prove it");
    assert_eq!(deadly.sends_of(poison), 6);
    let calls = deadly.calls();
    let sent: HashSet<EventId> =
        calls.iter().flat_map(|call| &call.ids).filter(|id| **id != poison).copied().collect();
    assert_eq!(sent, innocent);
    let at_once = |life: usize| calls.iter().filter(|c| c.life == life).map(|c| c.at_once).max();
    assert!((0..3).all(|life| at_once(life) > Some(50)));
    let of_poison = calls.iter().filter(|call| call.ids.contains(&poison) && call.life >= 3);
    let beside: Vec<usize> = of_poison.map(|call| call.at_once).collect();
    assert_eq!(beside, [1, 1, 1], "others were sent beside it");
    assert_eq!(abandoned(&rig.store).await, 0);
    last.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_record_that_kills_its_workers_parks_its_key() {
    let rig = Rig::new();
    let head = rig.store.stage(poison(ordered("orders", "a"))).id;
    rig.store.stage(ordered("orders", "a"));
    let deadly = Arc::new(Deadly::default());

    let last = deadly.until(&rig, "an empty outbox", |store| store.pending().is_empty()).await;

    assert_eq!(rig.store.dead_letters()[0].record.reference.id, head);
    assert_eq!(rig.store.parked().len(), 1);
    last.stop().await;
}

/// Two of them, in whatever lanes, are found one after the other.
#[tokio::test(start_paused = true)]
async fn every_record_that_kills_its_workers_is_found() {
    let rig = Rig::new();
    for _ in 0..3 {
        rig.store.stage(poison(message("orders")));
        rig.store.stage(message("orders"));
    }
    let deadly = Arc::new(Deadly::default());

    let last = deadly.until(&rig, "an empty outbox", |store| store.pending().is_empty()).await;

    let dead = rig.store.dead_letters();
    assert_eq!(dead.len(), 3);
    assert!(dead.iter().all(|letter| *letter.record.message.event_type == *POISON));
    last.stop().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_before_its_mark_is_written() {
    let rig = Rig::new();
    let record = rig.store.stage(message("orders"));
    abandon(&rig, 3).await;
    let mark = rig.store.pause(StoreCall::MarkSuspect);

    let worker = rig.start();
    mark.arrived().await;
    rig.pass(Duration::from_secs(2)).await;
    assert_eq!(rig.publisher.arrived(), 0);
    let sends = rig.publisher.hold();
    mark.release();
    rig.publisher.arrived_at_least(1).await;
    let marked = told(&rig.store).await.iter().find_map(|state| state.suspect).unwrap();
    assert_eq!(marked.position, record.position);
    sends.release();

    rig.until_empty().await;
    assert_eq!(rig.store.calls(StoreCall::MarkSuspect), 1);
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_mark_that_is_not_written_is_tried_again_before_anything_is_sent() {
    let rig = Rig::new();
    rig.store.stage(message("orders"));
    abandon(&rig, 3).await;
    for _ in 0..4 {
        rig.store.fail_next(StoreCall::MarkSuspect, StoreErrorKind::Unavailable);
    }

    let worker = rig.start();
    rig.store.called_at_least(StoreCall::MarkSuspect, 4).await;
    assert_eq!(rig.publisher.arrived(), 0);
    rig.until_empty().await;

    assert_eq!(rig.publisher.arrived(), 1);
    worker.stop().await;
}

/// Of each lane one record goes alone. Then the lane is cleared, and all go as usual.
#[tokio::test(start_paused = true)]
async fn records_go_one_at_a_time_until_a_record_of_each_lane_is_settled() {
    let (lines, _logging) = listen();
    let rig = Rig::new();
    for _ in 0..200 {
        rig.store.stage(message("orders"));
    }
    let of_records: HashSet<_> = rig.store.pending().iter().map(|it| it.reference.lane).collect();
    abandon(&rig, 3).await;
    let harmless = Arc::new(Deadly::default());

    let worker = rig.start_with(harmless.of_next_life());
    rig.until_empty().await;

    let calls = harmless.calls();
    let (alone, as_usual) = calls.split_at(of_records.len());
    assert!(alone.iter().all(|call| call.at_once == 1), "{alone:?}");
    assert!(as_usual.iter().any(|call| call.at_once > 10), "{as_usual:?}");
    assert_eq!(rig.store.calls(StoreCall::MarkSuspect), of_records.len());
    assert_eq!(abandoned(&rig.store).await, 0);
    worker.stop().await;
    assert_eq!((lines.with(BEGINS).len(), lines.with(ENDS).len()), (1, 1), "{}", lines.text());
}

/// What is under way when such lanes are taken over ends first: it may be what kills.
#[tokio::test(start_paused = true)]
async fn a_record_goes_alone_only_when_all_sends_before_it_have_ended() {
    let rig = Rig::new();
    for _ in 0..100 {
        rig.store.stage(message("orders"));
    }
    abandon(&rig, 2).await;
    let last = LeaseRequest {
        owner: WorkerId::new(),
        lanes: 32,
        lease: LeaseTime::new(Duration::from_secs(5)).unwrap(),
        orphans: None,
        except: Vec::new(),
        counts_abandoned: true,
    };
    rig.store.lease(&last).await.unwrap();
    let sends = rig.publisher.hold();
    let worker = rig.start();
    within("sends of its lanes", rig.publisher.arrived_at_least(1)).await;
    rig.until("all lanes", |store| {
        store.lanes().iter().filter(|lane| lane.owner != last.owner).count() == 64
    })
    .await;
    rig.pass(Duration::from_secs(1)).await;

    assert_eq!(rig.store.calls(StoreCall::MarkSuspect), 0);
    sends.release();
    rig.until_empty().await;
    assert!(rig.store.calls(StoreCall::MarkSuspect) > 0);
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn two_abandonments_are_no_reason_for_caution() {
    let rig = Rig::new();
    for _ in 0..50 {
        rig.store.stage(message("orders"));
    }
    abandon(&rig, 2).await;

    let worker = rig.start();
    rig.until_empty().await;

    assert_eq!(rig.store.calls(StoreCall::MarkSuspect), 0);
    worker.stop().await;
}

/// A failure that is counted is an end of an attempt like any other.
#[tokio::test(start_paused = true)]
async fn a_record_that_fails_clears_its_lane() {
    let rig = Rig::new();
    rig.store.stage(message("orders"));
    abandon(&rig, 3).await;
    rig.publisher.fail_next(failure(FailureKind::Transient));

    let worker = rig.start();
    rig.until_empty().await;

    assert_eq!(rig.store.calls(StoreCall::MarkSuspect), 1);
    assert_eq!(rig.publisher.arrived(), 2);
    worker.stop().await;
}

/// A lane whose records cannot be sent now cannot kill, and need not slow the others.
#[tokio::test(start_paused = true)]
async fn a_paused_topic_does_not_keep_the_others_from_being_sent_as_usual() {
    let rig = Rig::new();
    let broken = |message: &OutboxMessage| &*message.topic == "broken";
    rig.publisher.fail_when(broken, Times::Always, failure(FailureKind::Destination));
    let stuck = rig.store.stage(message("broken"));
    abandon(&rig, 3).await;

    let worker = rig.start();
    rig.publisher.sent_at_least(1).await;
    for _ in 0..500 {
        rig.store.stage(message("orders"));
    }
    let marks = rig.store.calls(StoreCall::MarkSuspect);
    rig.accepted(500).await;

    let more = rig.store.calls(StoreCall::MarkSuspect) - marks;
    assert!(more < 10, "{more} marks for records of lanes that nobody died with");
    assert_eq!(rig.store.pending()[0].reference, stuck);
    worker.stop().await;
}

/// A worker that outlived the send is no proof against the record when it dies of something else.
#[tokio::test(start_paused = true)]
async fn a_record_that_waits_in_a_paused_topic_is_not_blamed_for_kills() {
    let rig = Rig::new();
    rig.publisher.fail_when(|_| true, Times::Always, failure(FailureKind::Destination));
    let stuck = rig.store.stage(message("broken"));
    abandon(&rig, 3).await;

    for sends in 1..=6 {
        let worker = rig.start();
        within("one more send", rig.publisher.sent_at_least(sends)).await;
        rig.pass(Duration::from_millis(100)).await;
        worker.kill();
    }
    let worker = rig.start();
    rig.publisher.recover();
    rig.until_empty().await;

    assert!(rig.store.dead_letters().is_empty());
    assert_eq!(rig.publisher.accepted(), [stuck.id]);
    worker.stop().await;
}

/// A8 (b): all leases run out because nobody can renew them.
#[tokio::test(start_paused = true)]
async fn outages_of_the_database_count_nothing() {
    let rig = Rig::new();
    rig.publisher.fail_when(|_| true, Times::Always, failure(FailureKind::Destination));
    for _ in 0..100 {
        rig.store.stage(message("broken"));
    }
    let (first, second) = (rig.start(), rig.start());
    rig.until("both at work", |store| {
        let owners: HashSet<WorkerId> = store.lanes().iter().map(|lane| lane.owner).collect();
        store.lanes().len() == 64 && owners.len() == 2
    })
    .await;

    for outage in 1..=5 {
        rig.store.break_down(StoreErrorKind::Unavailable);
        rig.pass(rig.settings.lease * 2).await;
        assert!(rig.store.lanes().is_empty(), "all leases ran out");
        rig.store.recover();
        rig.until("all lanes", |store| store.lanes().len() == 64).await;
        rig.pass(rig.settings.lease / 2).await;
        assert_eq!(abandoned(&rig.store).await, 0, "after outage {outage}");
    }
    rig.publisher.recover();
    rig.until_empty().await;

    assert!(rig.store.dead_letters().is_empty());
    first.stop().await;
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kills_of_workers_with_nothing_to_do_count_nothing() {
    let rig = Rig::new();
    for _ in 0..5 {
        let worker = rig.start();
        rig.until("all lanes", |store| store.lanes().len() == 64).await;
        worker.kill();
    }
    rig.pass(rig.settings.lease).await;

    let worker = rig.start();
    rig.until("all lanes", |store| store.lanes().len() == 64).await;

    assert_eq!(abandoned(&rig.store).await, 0);
    worker.stop().await;
}

/// Nothing is settled in between, so nothing but the order of the end speaks for the workers.
#[tokio::test(start_paused = true)]
async fn a_rolling_restart_counts_nothing() {
    let rig = Rig::new();
    rig.publisher.fail_when(|_| true, Times::Always, failure(FailureKind::Destination));
    for _ in 0..100 {
        rig.store.stage(message("broken"));
    }
    for _ in 0..5 {
        let worker = rig.start();
        rig.until("all lanes", |store| store.lanes().len() == 64).await;
        rig.pass(Duration::from_secs(1)).await;
        worker.stop().await;
    }

    assert_eq!(abandoned(&rig.store).await, 0);
}

/// One that is killed with records to send counts, and what its successor settles forgets it.
#[tokio::test(start_paused = true)]
async fn a_killed_worker_counts_until_its_successor_settles_something() {
    let rig = Rig::new();
    rig.store.stage(message("orders"));
    let sends = rig.publisher.hold();
    let killed = rig.start();
    rig.publisher.arrived_at_least(1).await;
    killed.kill();

    let worker = rig.start();
    rig.publisher.arrived_at_least(2).await;
    let counted = abandoned(&rig.store).await;
    sends.release();
    rig.until_empty().await;

    assert_eq!((counted, abandoned(&rig.store).await), (1, 0));
    worker.stop().await;
}
