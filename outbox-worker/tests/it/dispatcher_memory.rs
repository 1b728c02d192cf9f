//! What cannot be sent now takes no room in memory from what can.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use outbox_core::{EventId, FailureKind, Lane, OutboxMessage, Schedule};
use outbox_testing::{CommitOrder, MemoryStore, SentMessage, Times};

use crate::rig::{Rig, failure, message, ordered};

/// Several times what may be held in memory.
const QUEUE: usize = 400;
const OTHERS: usize = 20;

const COMMITS: [CommitOrder; 3] =
    [CommitOrder::Numbered, CommitOrder::Ordered, CommitOrder::Unknown];

fn rig(commits: CommitOrder) -> Rig {
    let mut rig = Rig::with_commits(commits);
    rig.settings.held_records = NonZeroUsize::new(100).unwrap();
    rig.settings.read_records = NonZeroU32::new(30).unwrap();
    rig
}

fn stage(rig: &Rig, message: impl Fn() -> OutboxMessage, times: usize) -> Vec<EventId> {
    (0..times).map(|_| rig.store.stage(message()).id).collect()
}

/// A key that shares its lane with this one.
fn neighbour(topic: &str, key: &str) -> String {
    let lane = Lane::of_key(topic, key);
    let mut others = (0..).map(|number: u32| number.to_string());
    others.find(|other| other != key && Lane::of_key(topic, other) == lane).unwrap()
}

fn accepted(rig: &Rig, of: impl Fn(&SentMessage) -> bool) -> Vec<EventId> {
    let sent = rig.publisher.sent();
    let accepted = sent.iter().filter(|one| one.was_accepted() && of(one));
    accepted.map(|one| one.id).collect()
}

fn sorted(mut ids: Vec<EventId>) -> Vec<EventId> {
    ids.sort_unstable();
    ids
}

#[tokio::test(start_paused = true)]
async fn a_paused_topic_holds_back_no_other_and_is_sent_once_it_heals() {
    for commits in COMMITS {
        let rig = rig(commits);
        let closed = |message: &OutboxMessage| &*message.topic == "closed";
        rig.publisher.fail_when(closed, Times::Always, failure(FailureKind::Destination));
        let waiting = stage(&rig, || message("closed"), QUEUE);
        let worker = rig.start();
        rig.pass(Duration::from_secs(1)).await;
        assert!(worker.figures.failed(FailureKind::Destination) > 0);

        let others = stage(&rig, || message("open"), OTHERS);
        let sent = rig.accepted(OTHERS).await;
        rig.publisher.recover();
        rig.until_empty().await;

        assert_eq!(sorted(sent), sorted(others));
        assert_eq!(sorted(accepted(&rig, |one| &*one.topic == "closed")), sorted(waiting));
        worker.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_keys_of_a_paused_topic_are_in_order_once_it_heals() {
    for commits in COMMITS {
        let rig = rig(commits);
        let closed = |message: &OutboxMessage| &*message.topic == "closed";
        rig.publisher.fail_when(closed, Times::Always, failure(FailureKind::Destination));
        let mut expected: BTreeMap<String, Vec<EventId>> = BTreeMap::new();
        for number in 0..QUEUE {
            let key = (number % 50).to_string();
            let id = rig.store.stage(ordered("closed", &key)).id;
            expected.entry(key).or_default().push(id);
        }
        let worker = rig.start();
        rig.pass(Duration::from_secs(1)).await;

        let others = stage(&rig, || message("open"), OTHERS);
        let sent = rig.accepted(OTHERS).await;
        rig.publisher.recover();
        rig.until_empty().await;

        assert_eq!(sorted(sent), sorted(others));
        for (key, ids) in expected {
            assert_eq!(accepted(&rig, |one| one.key.as_ref() == Some(&key)), ids);
        }
        worker.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_with_a_long_queue_holds_back_no_other_of_its_lane() {
    for commits in COMMITS {
        let rig = rig(commits);
        let hot = |message: &OutboxMessage| message.ordering_key.as_deref() == Some("hot");
        let gate = rig.publisher.hold_when(hot);
        let queue = stage(&rig, || ordered("orders", "hot"), QUEUE);
        let worker = rig.start();
        let other = neighbour("orders", "hot");

        let others = stage(&rig, || ordered("orders", &other), OTHERS);
        let sent = rig.accepted(OTHERS).await;
        gate.release();
        rig.until_empty().await;

        assert_eq!(sent, others);
        assert_eq!(accepted(&rig, |one| one.key.as_deref() == Some("hot")), queue);
        worker.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_a_failed_head_holds_back_nothing_else() {
    for commits in COMMITS {
        let rig = rig(commits);
        let head = failed_head(&rig);
        let queue = stage(&rig, || ordered("orders", "waits"), QUEUE);
        let worker = rig.start();
        rig.until("a failure", |store| store.pending().iter().any(|one| one.attempts > 0)).await;
        let other = neighbour("orders", "waits");

        let others = stage(&rig, || ordered("orders", &other), OTHERS);
        let sent = rig.accepted(OTHERS).await;
        rig.until_empty().await;

        assert_eq!(sent, others);
        let in_order = [vec![head], queue].concat();
        assert_eq!(accepted(&rig, |one| one.key.as_deref() == Some("waits")), in_order);
        worker.stop().await;
    }
}

/// A worker that begins with keys that wait learns of them before it reads.
#[tokio::test(start_paused = true)]
async fn a_new_owner_reads_nothing_that_waits_for_a_failed_head() {
    let rig = rig(CommitOrder::Ordered);
    let head = rig.store.stage(ordered("orders", "waits")).id;
    let mut later = failure(FailureKind::Transient);
    later.retry_after = Some(Duration::from_mins(1));
    rig.publisher.fail_next(later);
    let worker = rig.start();
    rig.until("a failure", |store| store.pending().iter().any(|one| one.attempts > 0)).await;
    worker.stop().await;
    let queue = stage(&rig, || ordered("orders", "waits"), QUEUE);
    let others = stage(&rig, || message("orders"), OTHERS);

    let worker = rig.start();
    let sent = rig.accepted(OTHERS).await;
    rig.until_empty().await;

    assert_eq!(sorted(sent), sorted(others));
    let in_order = [vec![head], queue].concat();
    assert_eq!(accepted(&rig, |one| one.key.as_deref() == Some("waits")), in_order);
    worker.stop().await;
}

/// Where each of these was sent.
fn order(rig: &Rig, staged: &[EventId]) -> Vec<usize> {
    let sent = rig.publisher.accepted();
    let place = |id: &EventId| sent.iter().position(|sent| sent == id).unwrap();
    staged.iter().map(place).collect()
}

/// A head that fails once and is then due in a minute.
fn failed_head(rig: &Rig) -> EventId {
    let head = rig.store.stage(ordered("orders", "waits")).id;
    let mut later = failure(FailureKind::Transient);
    later.retry_after = Some(Duration::from_mins(1));
    rig.publisher.fail_when(move |message| message.id == head, Times::First(1), later);
    head
}

fn stage_scheduled(rig: &Rig) -> EventId {
    let soon = Schedule::After(Duration::from_secs(1));
    rig.store.stage_for(ordered("orders", "waits"), soon).id
}

/// A scheduled record takes its place when it is due, and that is behind what was staged before it.
#[tokio::test(start_paused = true)]
async fn a_scheduled_record_goes_before_nothing_that_is_not_read_yet() {
    for commits in COMMITS {
        let rig = rig(commits);
        let head = failed_head(&rig);
        let worker = rig.start();
        rig.until("a failure", |store| store.pending().iter().any(|one| one.attempts > 0)).await;
        let queue = stage(&rig, || ordered("orders", "waits"), OTHERS);
        let last = stage_scheduled(&rig);
        rig.pass(Duration::from_secs(5)).await;

        rig.until_empty().await;

        let places = order(&rig, &[vec![head], queue, vec![last]].concat());
        assert!(places.is_sorted(), "{commits:?}: {places:?}");
        worker.stop().await;
    }
}

/// Not even if it was read, and the others were let go of again.
#[tokio::test(start_paused = true)]
async fn a_scheduled_record_goes_before_nothing_that_was_let_go_of() {
    for commits in COMMITS {
        let rig = rig(commits);
        let closed = |message: &OutboxMessage| &*message.topic == "closed";
        rig.publisher.fail_when(closed, Times::Always, failure(FailureKind::Destination));
        let gate = rig.publisher.hold_when(|message| message.ordering_key.is_some());
        let head = failed_head(&rig);
        let queue = stage(&rig, || ordered("orders", "waits"), OTHERS);
        let last = stage_scheduled(&rig);
        let worker = rig.start();
        rig.pass(Duration::from_secs(2)).await;
        gate.release();
        rig.until("a failure", |store| store.pending().iter().any(|one| one.attempts > 0)).await;

        stage(&rig, || message("closed"), QUEUE);
        rig.pass(Duration::from_secs(30)).await;
        rig.publisher.recover();
        rig.until_empty().await;

        let places = order(&rig, &[vec![head], queue, vec![last]].concat());
        assert!(places.is_sorted(), "{commits:?}: {places:?}");
        worker.stop().await;
    }
}

/// Those that were scheduled came before the pause, and filled the memory.
#[tokio::test(start_paused = true)]
async fn scheduled_records_of_a_paused_topic_hold_back_no_other() {
    for commits in COMMITS {
        let rig = rig(commits);
        let closed = |message: &OutboxMessage| &*message.topic == "closed";
        rig.publisher.fail_when(closed, Times::Always, failure(FailureKind::Destination));
        let soon = Schedule::After(Duration::from_secs(1));
        for _ in 0..QUEUE {
            rig.store.stage_for(message("closed"), soon);
        }
        rig.pass(Duration::from_secs(2)).await;
        let worker = rig.start();
        rig.pass(Duration::from_secs(1)).await;

        let others = stage(&rig, || message("open"), OTHERS);
        let sent = rig.accepted(OTHERS).await;
        rig.publisher.recover();
        rig.until_empty().await;

        assert_eq!(sorted(sent), sorted(others));
        assert_eq!(accepted(&rig, |one| &*one.topic == "closed").len(), QUEUE);
        worker.stop().await;
    }
}

/// All of them come before anything else of their lane, and more than can be held.
#[tokio::test(start_paused = true)]
async fn a_worker_that_begins_with_many_overdue_records_sends_them() {
    for commits in COMMITS {
        let rig = rig(commits);
        let soon = Schedule::After(Duration::from_secs(1));
        for number in 0..QUEUE {
            rig.store.stage_for(ordered("orders", &number.to_string()), soon);
        }
        rig.pass(Duration::from_secs(2)).await;

        let worker = rig.start();
        let sent = rig.accepted(QUEUE).await;

        assert_eq!(sent.len(), QUEUE);
        worker.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_whose_records_go_through_several_transports_is_in_order() {
    for commits in COMMITS {
        let rig = rig(commits);
        let by_transport = |message: &OutboxMessage| message.transport.is_some();
        rig.publisher.fail_when(by_transport, Times::Always, failure(FailureKind::Destination));
        let mut first = ordered("orders", "7");
        first.transport = Some("sns-eu".to_owned());
        let first = rig.store.stage(first).id;
        let worker = rig.start();
        rig.pass(Duration::from_secs(1)).await;

        let second = rig.store.stage(ordered("orders", "7")).id;
        rig.pass(Duration::from_secs(10)).await;
        let before = rig.publisher.accepted();
        rig.publisher.recover();
        rig.until_empty().await;

        assert_eq!(before, [], "the second overtakes the first");
        assert_eq!(rig.publisher.accepted(), [first, second]);
        worker.stop().await;
    }
}

/// A scheduled record that is read first and fails must not wait for an earlier one of its key that
/// left the memory, which waits for it.
#[tokio::test(start_paused = true)]
async fn a_scheduled_record_that_failed_and_an_earlier_one_do_not_wait_for_each_other() {
    let mut rig = Rig::new();
    rig.settings.read_records = NonZeroU32::MIN;
    rig.settings.held_records = NonZeroUsize::MIN.saturating_add(1);
    let soon = Schedule::After(Duration::from_secs(1));
    rig.store.stage(ordered("orders", "7"));
    rig.store.stage_for(ordered("orders", "7"), soon);
    rig.pass(Duration::from_secs(2)).await;
    rig.publisher.fail_next(failure(FailureKind::Transient));
    let sending = rig.publisher.hold();

    let worker = rig.start();
    rig.publisher.arrived_at_least(1).await;
    rig.pass(Duration::from_secs(1)).await;
    sending.release();
    rig.until_empty().await;

    worker.stop().await;
}

/// Keys of one lane, each with a head that fails once and is then due in a minute; between them as many
/// records that are sent, or the topic would count as out of reach.
fn stage_failed_heads(rig: &Rig) -> Vec<(String, EventId)> {
    let lane = Lane::of_key("orders", "waits");
    let mine = |key: &String| Lane::of_key("orders", key) == lane;
    let keys = (0..).map(|number: u32| number.to_string()).filter(mine).take(2 * QUEUE);
    let staged = keys.map(|key| (key.clone(), rig.store.stage(ordered("orders", &key)).id));
    let heads: Vec<(String, EventId)> = staged.step_by(2).collect();
    let mut later = failure(FailureKind::Transient);
    later.retry_after = Some(Duration::from_mins(1));
    let ids: Vec<EventId> = heads.iter().map(|(_, id)| *id).collect();
    for id in ids {
        rig.publisher.fail_when(move |message| message.id == id, Times::First(1), later.clone());
    }
    heads
}

/// They are due, so that no read leaves them out because it has seen them before.
#[tokio::test(start_paused = true)]
async fn scheduled_records_behind_failed_heads_hold_back_no_other() {
    for commits in COMMITS {
        let rig = rig(commits);
        let heads = stage_failed_heads(&rig);
        let worker = rig.start();
        let failed = |store: &MemoryStore| store.pending().iter().all(|one| one.attempts > 0);
        rig.until("failures", failed).await;
        let soon = Schedule::After(Duration::from_secs(1));
        let follow = |key: &String| rig.store.stage_for(ordered("orders", key), soon).id;
        let followers: Vec<EventId> = heads.iter().map(|(key, _)| follow(key)).collect();
        rig.pass(Duration::from_secs(5)).await;

        let others = stage(&rig, || message("open"), OTHERS);
        let sent = rig.accepted(QUEUE + OTHERS).await.split_off(QUEUE);
        rig.until_empty().await;

        assert_eq!(sorted(sent), sorted(others));
        for ((_, head), follower) in heads.into_iter().zip(followers) {
            let places = order(&rig, &[head, follower]);
            assert!(places.is_sorted(), "{commits:?}: {places:?}");
        }
        worker.stop().await;
    }
}
