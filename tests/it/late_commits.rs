//! Transactions that commit in another order than that of their positions, beside a dispatcher that
//! reads from the real store: break A1.
//!
//! Which transaction stages, commits or rolls back next is drawn at random, and so is when the
//! dispatcher has sent all that is committed, which moves its cursors past what is still open.
//! `OUTBOX_TEST_SEED` and `OUTBOX_TEST_RUNS` choose the runs.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use outbox_core::{
    EventId, ExponentialBackoff, Failure, FailureKind, Lane, OutboxMessage, Schedule, StagedMessage,
};
use outbox_seaorm::{OutboxSettings, Stage, scope};
use outbox_test_databases::{Lent, lend_mariadb, lend_postgres, lend_sqlite, number};
use outbox_testing::{ScriptedPublisher, Times};
use outbox_tests::process::PATIENCE;
use outbox_tests::store::lane_store;
use outbox_worker::{CancellationToken, Dispatcher, DispatcherSettings};
use sea_orm::{DatabaseConnection, DatabaseTransaction, TransactionTrait};

use crate::seeds::seeds;

const RUNS: u64 = 30;
const STEPS: usize = 80;
const TOPIC: &str = "orders";

#[tokio::test(flavor = "multi_thread")]
async fn mariadb_leaves_no_late_commit_behind() {
    deliver_late_commits(lend_mariadb().await, 4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_leaves_no_late_commit_behind() {
    deliver_late_commits(lend_postgres().await, 4).await;
}

/// One transaction writes at a time, so none is late: what is committed goes out in order all the
/// same.
#[tokio::test(flavor = "multi_thread")]
async fn sqlite_leaves_no_commit_behind() {
    deliver_late_commits(lend_sqlite(), 1).await;
}

async fn deliver_late_commits(database: Lent, writers: u32) {
    let db = database.connect_with(writers + 1).await;
    outbox_migration::migrate(&db).await.unwrap();
    let store = lane_store(&database).await;
    let publisher = ScriptedPublisher::new();
    let again = Failure::new(FailureKind::Transient, "not at the first time");
    publisher.fail_when(some_fail_once(), Times::Always, again);
    let mut retry = ExponentialBackoff::default();
    retry.base = Duration::from_millis(20);
    retry.cap = Duration::from_millis(20);
    let mut settings = DispatcherSettings::default();
    settings.idle_poll = Duration::from_millis(10);
    settings.lease = Duration::from_mins(1);
    let dispatcher = Dispatcher::builder(store, Arc::new(publisher.clone()));
    let dispatcher = dispatcher.settings(settings).retry(Arc::new(retry)).build().unwrap();
    let shutdown = CancellationToken::new();
    let running = tokio::spawn(dispatcher.run(shutdown.clone()));

    let mut shop = Shop::new(db.clone(), publisher, usize::try_from(writers).unwrap());
    let settings = OutboxSettings::new("https://shop.example");
    scope(settings, async {
        for seed in seeds(RUNS) {
            shop.run(seed).await;
        }
    })
    .await;

    shutdown.cancel();
    running.await.unwrap();
    assert_eq!(number(&db, "SELECT count(*) FROM outbox_message").await, 0, "left behind");
}

/// Fails the first attempt of every third message, so that keys wait and reads leave them out.
fn some_fail_once() -> impl Fn(&OutboxMessage) -> bool + Send + 'static {
    let (attempted, met) = (Mutex::new(HashSet::new()), AtomicUsize::new(0));
    move |message| {
        let is_first = attempted.lock().unwrap().insert(message.id);
        is_first && met.fetch_add(1, Ordering::Relaxed) % 3 == 0
    }
}

/// An open transaction and what it has staged, each with its key.
struct Open {
    txn: DatabaseTransaction,
    staged: Vec<(Option<usize>, EventId)>,
}

/// The application: its transactions, and what they have committed.
struct Shop {
    db: DatabaseConnection,
    publisher: ScriptedPublisher,
    keys: Vec<String>,
    writers: Vec<Option<Open>>,
    /// By key, in the order of the commits.
    committed: HashMap<Option<usize>, Vec<EventId>>,
    steps: Vec<String>,
}

impl Shop {
    fn new(db: DatabaseConnection, publisher: ScriptedPublisher, writers: usize) -> Self {
        // In one lane, where each is behind the cursor that the others move.
        let keys = (0..).map(|number| format!("order-{number}"));
        let near = |key: &String| Lane::of_key(TOPIC, key).number() == 0;
        Self {
            db,
            publisher,
            keys: keys.filter(near).take(6).collect(),
            writers: (0..writers).map(|_| None).collect(),
            committed: HashMap::new(),
            steps: Vec::new(),
        }
    }

    async fn run(&mut self, seed: u64) {
        self.steps = vec![format!("OUTBOX_TEST_SEED={seed}")];
        let mut random = Rng::with_seed(seed);
        for _ in 0..STEPS {
            let writer = random.usize(..self.writers.len());
            match random.u8(..20) {
                0..11 => self.stage(writer, random.usize(..=self.keys.len())).await,
                11..16 => self.commit(writer).await,
                16 => self.roll_back(writer).await,
                // A dispatcher could not settle beside the only writer.
                _ if self.writers.len() > 1 => self.until_all_sent().await,
                _ => {}
            }
        }
        for writer in 0..self.writers.len() {
            self.commit(writer).await;
        }
        self.until_all_sent().await;
        self.assert_in_order();
    }

    /// Stages a record of this key, whose lock the transaction then holds until it ends. There is
    /// one number more than there are keys: that record has none.
    async fn stage(&mut self, writer: usize, key: usize) {
        let key = (key < self.keys.len()).then_some(key);
        let locked = |open: &Open| key.is_some() && open.staged.iter().any(|(of, _)| *of == key);
        let others = self.writers.iter().enumerate().filter(|(other, _)| *other != writer);
        if others.filter_map(|(_, open)| open.as_ref()).any(locked) {
            return;
        }
        let (message, id) = message(key.map(|key| self.keys[key].clone()));
        if self.writers[writer].is_none() {
            let txn = self.db.begin().await.unwrap();
            self.writers[writer] = Some(Open { txn, staged: Vec::new() });
        }
        let open = self.writers[writer].as_mut().unwrap();
        open.txn.stage_encoded([message]).await.unwrap();
        open.staged.push((key, id));
        self.steps.push(format!("{writer} stages {id} of {key:?}"));
    }

    async fn commit(&mut self, writer: usize) {
        let Some(open) = self.writers[writer].take() else { return };
        open.txn.commit().await.unwrap();
        for (key, id) in open.staged {
            self.committed.entry(key).or_default().push(id);
        }
        self.steps.push(format!("{writer} commits"));
    }

    async fn roll_back(&mut self, writer: usize) {
        let Some(open) = self.writers[writer].take() else { return };
        open.txn.rollback().await.unwrap();
        self.steps.push(format!("{writer} rolls back"));
    }

    async fn until_all_sent(&mut self) {
        let committed = self.committed.values().map(Vec::len).sum();
        let sent = self.publisher.accepted_at_least(committed);
        let in_time = tokio::time::timeout(PATIENCE, sent).await.is_ok();
        assert!(in_time, "a committed record is not sent:\n{}", self.steps.join("\n"));
        self.steps.push(format!("{committed} are sent"));
    }

    fn assert_in_order(&self) {
        let accepted = self.publisher.accepted();
        let mut sent: HashMap<EventId, usize> = HashMap::new();
        for (at, id) in accepted.iter().enumerate() {
            let before = sent.insert(*id, at);
            assert_eq!(before, None, "{id} is sent twice:\n{}", self.steps.join("\n"));
        }
        for (key, committed) in &self.committed {
            let order: Vec<usize> = committed.iter().map(|id| sent[id]).collect();
            let in_order = key.is_none() || order.is_sorted();
            assert!(in_order, "key {key:?} is out of order:\n{}", self.steps.join("\n"));
        }
    }
}

/// A message of this key, or one without a key in the same lane.
fn message(key: Option<String>) -> (StagedMessage, EventId) {
    let near = |id: &EventId| key.is_some() || Lane::of_id(*id).number() == 0;
    let id = std::iter::repeat_with(EventId::new).find(near).unwrap();
    let source = "https://shop.example/orders";
    let mut message = OutboxMessage::new(id, "orders.repriced", TOPIC, source, "{}".into());
    message.partition_key.clone_from(&key);
    message.ordering_key = key;
    (StagedMessage { message, schedule: Schedule::Now }, id)
}
