//! Reads whose answer comes after a settlement: break A2, on the real PostgreSQL.
//!
//! A read shows a record that is settled before the answer arrives. Two rules keep it from being
//! sent again, and each has its test: a read leaves out what is known when it begins, and a lane is
//! read by one read at a time.

use std::sync::Arc;

use outbox_core::{EventId, Lane};
use outbox_seaorm::{EventExt, OutboxSettings, Stage, scope};
use outbox_test_databases::on_postgres;
use outbox_testing::ScriptedPublisher;
use outbox_tests::process::PATIENCE;
use outbox_tests::shop::Repriced;
use outbox_tests::store::lane_store;
use outbox_worker::{CancellationToken, Dispatcher, DispatcherSettings, Figures};
use sea_orm::{DatabaseConnection, TransactionTrait};

use crate::slow_store::{Event, SlowStore};

/// A running dispatcher, what it talks to, and the database.
struct Rig {
    db: DatabaseConnection,
    store: Arc<SlowStore>,
    publisher: ScriptedPublisher,
    figures: Arc<Figures>,
}

impl Rig {
    /// Commits an event of this key.
    async fn stage(&self, order_id: i32) -> EventId {
        let id = EventId::new();
        let txn = self.db.begin().await.unwrap();
        txn.stage(Repriced { order_id, total: 1 }.with_id(id)).await.unwrap();
        txn.commit().await.unwrap();
        id
    }

    /// Returns once the dispatcher has taken the answer to the settlement of so many records.
    async fn settled(&self, records: u64) {
        while self.figures.published() < records {
            tokio::task::yield_now().await;
        }
    }

    /// A second record of the key would wait behind the first one, were that sent again.
    async fn sends_only_these(&self, first: EventId, order_id: i32) {
        let second = self.stage(order_id).await;
        let accepted = self.publisher.accepted_at_least(2).await;
        assert_eq!(accepted, [first, second], "a record that was settled was sent again");
    }
}

/// Runs a case beside a dispatcher that leases so many lanes at first.
async fn with_dispatcher(first_lanes: u8, readers: u8, case: impl AsyncFnOnce(&Rig)) {
    on_postgres(async |database| {
        let db = database.connect().await;
        outbox_migration::migrate(&db).await.unwrap();
        let store = SlowStore::new(lane_store(&database).await, first_lanes);
        let publisher = ScriptedPublisher::new();
        let mut settings = DispatcherSettings::default();
        settings.readers = readers.try_into().unwrap();
        // What is kept back must not be given up.
        settings.store_timeout = PATIENCE;
        let dispatcher = Dispatcher::builder(store.clone(), Arc::new(publisher.clone()));
        let dispatcher = dispatcher.settings(settings).build().unwrap();
        let rig = Rig { db, store, publisher, figures: dispatcher.figures() };
        let shutdown = CancellationToken::new();
        let running = tokio::spawn(dispatcher.run(shutdown.clone()));

        let case = scope(OutboxSettings::new("https://shop.example"), case(&rig));
        tokio::time::timeout(PATIENCE, case).await.expect("an end of the case in time");

        shutdown.cancel();
        running.await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_began_while_a_record_was_on_its_way_does_not_send_it_again() {
    with_dispatcher(Lane::COUNT, 1, async |rig| {
        let sends = rig.publisher.hold();
        let first = rig.stage(1).await;
        rig.publisher.arrived_at_least(1).await;
        rig.store.keep_next_answer();
        rig.store.happened(1, |event| *event == Event::AnswerKept).await;
        sends.release();
        rig.settled(1).await;

        rig.store.answer();

        rig.sends_only_these(first, 1).await;
    })
    .await;
}

/// The lanes that come first are read by one quiet reader, and its answer is kept back. The other
/// lanes wake the second reader, which reads the odd ones of all.
#[tokio::test(flavor = "multi_thread")]
async fn a_lane_whose_answer_is_awaited_is_not_read_by_another_read() {
    let odd_and_early = |order_id: &i32| {
        let lane = Lane::of_key("orders", &order_id.to_string()).number();
        lane < 32 && lane % 2 == 1
    };
    let order_id = (1..1000).find(odd_and_early).unwrap();
    let lane = Lane::of_key("orders", &order_id.to_string());
    with_dispatcher(32, 2, async |rig| {
        rig.store.happened(1, |event| *event == Event::MoreLanesWanted).await;
        rig.store.happened(1, |event| matches!(event, Event::Read(all) if all.len() == 32)).await;
        rig.store.keep_next_answer();
        let first = rig.stage(order_id).await;
        rig.store.happened(1, |event| *event == Event::AnswerKept).await;

        rig.store.give_more_lanes();
        tokio::select! {
            () = rig.settled(1) => {}
            () = rig.store.happened(1, |event| reads_later_lanes_without(lane, event)) => {}
        }
        rig.store.answer();

        rig.sends_only_these(first, order_id).await;
    })
    .await;
}

/// Whether lanes were read that were not leased at first, and this one was not.
fn reads_later_lanes_without(lane: Lane, event: &Event) -> bool {
    let Event::Read(read) = event else { return false };
    let mut lanes = read.iter().map(|read| read.lane);
    lanes.clone().any(|lane| lane.number() >= 32) && !lanes.any(|of_read| of_read == lane)
}

/// Or whatever is scheduled there would be passed by each read.
#[tokio::test(flavor = "multi_thread")]
async fn a_lane_that_has_nothing_due_is_read_behind_what_others_had() {
    with_dispatcher(Lane::COUNT, 1, async |rig| {
        let busy = Lane::of_key("orders", "1");
        for settled in 1..=3 {
            rig.stage(1).await;
            rig.settled(settled).await;
        }

        let is_behind = |event: &Event| {
            let Event::Read(read) = event else { return false };
            read.iter().all(|read| read.lane == busy || read.floor.0 > 0)
        };
        rig.store.happened(1, is_behind).await;
    })
    .await;
}
