//! What is due behind a long queue of records that are due and cannot be sent now.

use std::time::Duration;

use outbox_core::{EventId, FailureKind, Lane, OutboxMessage, Schedule};
use outbox_testing::{CommitOrder, Times};

use crate::rig::{Rig, failure, ordered};

/// Many times what the store in memory looks at at once.
const QUEUE: u64 = 200;
const HOUR: Duration = Duration::from_hours(1);

const COMMITS: [CommitOrder; 3] =
    [CommitOrder::Numbered, CommitOrder::Ordered, CommitOrder::Unknown];

/// A worker that was started on a queue of a topic that is missing. All are due and in one lane.
struct Queue {
    rig: Rig,
    ids: Vec<EventId>,
}

impl Queue {
    fn new(commits: CommitOrder) -> Self {
        let rig = Rig::with_commits(commits);
        let closed = |message: &OutboxMessage| &*message.topic == "closed";
        rig.publisher.fail_when(closed, Times::Always, failure(FailureKind::Destination));
        let instant = rig.clock.now() - HOUR;
        let stage = |number| {
            let due = Schedule::At(instant + Duration::from_secs(number));
            rig.store.stage_for(ordered("closed", "key"), due).id
        };
        let ids = (0..QUEUE).map(stage).collect();
        Self { rig, ids }
    }

    /// A record of a topic that takes it, in the same lane.
    fn stage_other(&self, schedule: Schedule) -> EventId {
        let lane = Lane::of_key("closed", "key");
        let mut keys = (0..).map(|number: u32| number.to_string());
        let key = keys.find(|key| Lane::of_key("open", key) == lane).unwrap();
        self.rig.store.stage_for(ordered("open", &key), schedule).id
    }

    fn sent(&self) -> Vec<EventId> {
        let sent = self.rig.publisher.sent();
        sent.iter().filter(|one| one.was_accepted()).map(|one| one.id).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn what_becomes_due_behind_a_paused_queue_is_sent_at_once() {
    for commits in COMMITS {
        let queue = Queue::new(commits);
        let worker = queue.rig.start();
        queue.rig.pass(HOUR / 60).await;

        let other = queue.stage_other(Schedule::After(Duration::from_secs(10)));
        queue.rig.pass(Duration::from_secs(13)).await;

        assert_eq!(queue.sent(), [other]);
        worker.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_due_at_the_end_of_a_paused_queue_is_sent_soon() {
    for commits in COMMITS {
        let queue = Queue::new(commits);
        let other = queue.stage_other(Schedule::At(queue.rig.clock.now()));
        let worker = queue.rig.start();

        queue.rig.pass(Duration::from_secs(5)).await;

        assert_eq!(queue.sent(), [other]);
        worker.stop().await;
    }
}

/// A transaction may commit late what has been due for long.
#[tokio::test(start_paused = true)]
async fn what_appears_before_a_paused_queue_is_found() {
    for commits in COMMITS {
        let queue = Queue::new(commits);
        let worker = queue.rig.start();
        queue.rig.pass(HOUR / 60).await;

        let other = queue.stage_other(Schedule::At(queue.rig.clock.now() - HOUR * 2));
        let sent = queue.rig.accepted(1).await;

        assert_eq!(sent, [other]);
        worker.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_paused_queue_is_sent_in_order_once_its_topic_heals() {
    for commits in COMMITS {
        let queue = Queue::new(commits);
        let worker = queue.rig.start();
        queue.rig.pass(HOUR / 60).await;

        queue.rig.publisher.recover();
        queue.rig.until_empty().await;

        assert_eq!(queue.sent(), queue.ids);
        worker.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_ends_by_itself_has_sent_what_is_due_behind_a_paused_queue() {
    for commits in COMMITS {
        let queue = Queue::new(commits);
        let other = queue.stage_other(Schedule::At(queue.rig.clock.now()));

        queue.rig.run_until_idle().await;

        assert_eq!(queue.sent(), [other]);
    }
}
