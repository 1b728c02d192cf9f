//! Records that are large take no more memory than there is room for.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use outbox_core::{EventId, Lane};
use outbox_testing::CommitOrder;
use outbox_worker::{Measurement, OutboxMetrics};

use crate::rig::{Rig, Worker, message};

const MIB: usize = 1024 * 1024;
const QUEUE: usize = 400;

/// How many records each read brought in that found some.
#[derive(Debug, Default)]
struct Reads(Mutex<Vec<usize>>);

impl OutboxMetrics for Reads {
    fn measure(&self, measurement: &Measurement<'_>) {
        if let Measurement::Read { records: records @ 1.., .. } = *measurement {
            self.0.lock().unwrap().push(records);
        }
    }
}

impl Reads {
    fn all(&self) -> Vec<usize> {
        self.0.lock().unwrap().clone()
    }
}

fn start(rig: &Rig) -> (Worker, Arc<Reads>) {
    let reads = Arc::new(Reads::default());
    let builder = rig.dispatcher(Arc::new(rig.publisher.clone())).metrics(reads.clone());
    (Worker::of(builder), reads)
}

/// Stages a record of this size in each lane.
fn stage_in_each_lane(rig: &Rig, bytes: usize) {
    let payload = Bytes::from(vec![b'x'; bytes]);
    for lane in Lane::all() {
        stage_in(rig, lane, &payload);
    }
}

fn stage_in(rig: &Rig, lane: Lane, payload: &Bytes) -> EventId {
    let mut message = message("orders");
    while message.lane() != lane {
        message.id = EventId::new();
    }
    message.payload = payload.clone();
    rig.store.stage(message).id
}

#[tokio::test(start_paused = true)]
async fn a_read_brings_no_more_large_records_than_it_has_room_for() {
    let rig = Rig::with_commits(CommitOrder::Numbered);
    stage_in_each_lane(&rig, MIB);

    let (worker, reads) = start(&rig);
    rig.until_empty().await;
    worker.stop().await;

    let most = reads.all().into_iter().max();
    assert!(most <= Some(4), "{most:?} records of 1 MiB in a read of 4 MiB");
}

/// What was read before says nothing about what comes next.
#[tokio::test(start_paused = true)]
async fn large_records_behind_small_ones_fill_no_more_than_the_memory_that_is_meant_for_them() {
    let rig = Rig::new();
    stage_in_each_lane(&rig, 100);
    let (worker, reads) = start(&rig);
    rig.until_empty().await;
    rig.pass(Duration::from_secs(10)).await;
    let small: usize = reads.all().into_iter().sum();

    let gate = rig.publisher.hold();
    stage_in_each_lane(&rig, MIB);
    rig.pass(Duration::from_secs(1)).await;
    let held: usize = reads.all().into_iter().sum::<usize>() - small;
    gate.release();
    rig.until_empty().await;
    worker.stop().await;

    let most = rig.settings.held_bytes / MIB;
    assert!(held <= most, "{held} records of 1 MiB where {most} are meant to be held");
}

/// One that has many must not have the room of every read.
#[tokio::test(start_paused = true)]
async fn a_lane_of_large_records_strands_no_other() {
    let mut rig = Rig::new();
    rig.settings.read_bytes = 1;
    for _ in 0..QUEUE {
        stage_in(&rig, Lane::new(1).unwrap(), &Bytes::from_static(b"{}"));
    }
    let other = stage_in(&rig, Lane::new(63).unwrap(), &Bytes::from_static(b"{}"));

    let (worker, reads) = start(&rig);
    rig.until_empty().await;
    worker.stop().await;

    let place = rig.publisher.accepted().into_iter().position(|sent| sent == other);
    assert_eq!(reads.all().into_iter().max(), Some(1), "no read has room for more");
    assert!(place < Some(QUEUE), "{place:?}");
}
