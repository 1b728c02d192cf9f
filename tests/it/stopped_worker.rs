//! A process that stands still for longer than its leases, as a machine does that is suspended.

use std::collections::HashSet;

use outbox_test_databases::number;
use outbox_testing::sns::{Accepted, Fault};
use outbox_tests::process::{Signal, Worker, WorkerSetup};
use outbox_tests::shop::{self, Ending};
use sea_orm::DatabaseConnection;

use crate::deliveries::{
    DEAD, LEFT, by_event, event_id, sender, sent_by, shop_on, until_all_lanes_are_held,
    until_settled,
};
use crate::scene::{Scene, on_postgres};

/// Requests of one record each that are under way when the process is stopped.
const IN_FLIGHT: usize = 6;
/// The first of them: no answer to them is there when the process goes on.
const UNANSWERED: usize = 3;
const LATER: usize = 20;

const ATTEMPTS: &str = "SELECT coalesce(sum(attempts), 0)::bigint FROM outbox_message";

async fn place(db: &DatabaseConnection, orders: std::ops::Range<usize>) {
    for total in orders {
        shop::place(db, total.try_into().unwrap(), Ending::Commit).await.unwrap();
    }
}

/// A process that stands still, and the events of its requests that are under way. Half of the
/// answers come while it does, the others never.
async fn stopped_worker(
    scene: &Scene,
    db: &DatabaseConnection,
    setup: &WorkerSetup,
) -> (Worker, HashSet<String>) {
    scene.stub.script(vec![Fault::AcceptThenHang; UNANSWERED]);
    let answers = scene.stub.hold();
    let worker = scene.worker(setup).await;
    until_all_lanes_are_held(scene, db, 1).await;
    for sent in 0..IN_FLIGHT {
        place(db, sent..sent + 1).await;
        scene.within("acceptance", scene.stub.accepted_at_least(sent + 1)).await;
    }
    worker.suspend().await;
    let sent = scene.stub.journal();
    let in_flight: HashSet<String> = sent.iter().map(|one| event_id(one).to_owned()).collect();
    assert_eq!((sent.len(), in_flight.len()), (IN_FLIGHT, IN_FLIGHT), "stopped too late");
    answers.release();
    (worker, in_flight)
}

/// When the process goes on, half of its requests were answered and half have taken too long: it has
/// outcomes of both kinds to write, under leases that another process has taken over, which is
/// sending the same records.
async fn stopped_past_its_lease(scene: &Scene) {
    let db = shop_on(&scene.database).await;
    let mut setup = scene.setup();
    setup.settings.extend([
        ("OUTBOX_DISPATCHER__LEASE", "5s"),
        ("OUTBOX_DISPATCHER__PUBLISH_TIMEOUT", "3s"),
        ("OUTBOX_DISPATCHER__MARGIN", "200ms"),
    ]);
    let (first, in_flight) = stopped_worker(scene, &db, &setup).await;

    let answers = scene.stub.hold();
    let second = scene.worker(&setup).await;
    let (stale, current) = (first.access_key_id(), second.access_key_id());
    let repeated = |journal: &[Accepted]| sent_by(journal, current) >= IN_FLIGHT;
    scene.within("repetition", scene.stub.accepted_until(repeated)).await;
    first.signal(Signal::CONT);
    first.until_logged("lease lost while records were held").await;
    let untouched = (number(&db, LEFT).await, number(&db, ATTEMPTS).await);
    answers.release();
    place(&db, IN_FLIGHT..IN_FLIGHT + LATER).await;
    until_settled(scene, &db).await;

    assert_eq!(untouched, (i64::try_from(IN_FLIGHT).unwrap(), 0), "settled under a stale lease");
    assert_eq!(number(&db, DEAD).await, 0);
    let journal = scene.stub.journal();
    assert_eq!(by_event(&journal).len(), IN_FLIGHT + LATER);
    for (id, acceptances) in by_event(&journal) {
        let senders: Vec<&str> = acceptances.into_iter().map(sender).collect();
        let is_right =
            if in_flight.contains(id) { senders == [stale, current] } else { senders.len() == 1 };
        assert!(is_right, "{id} was sent by {senders:?}");
    }
    for worker in [first, second] {
        let (status, said) = worker.stop().await;
        assert!(status.success(), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_was_stopped_past_its_lease_settles_nothing_on_postgres() {
    on_postgres(stopped_past_its_lease).await;
}
