//! The calls that a worker and an application make again and again, and what each of them costs.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use outbox_core::{
    Batch, DeadReason, DuePlace, EventId, Failure, FailureKind, Format, Lane, LaneLease,
    LeaseRequest, OutboxStore, Outcome, OutcomeKind, Position, ReadRequest, RecordRef, TableNames,
    Withheld, WorkerCard, WorkerId,
};
use outbox_seaorm::{PoolOptions, SeaOrmStore, Stage, connect};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, TransactionTrait};

use crate::database::{TestDatabase, rows};
use crate::shop::OrderPlaced;
use crate::store_fixture::{LEASE, from_start, lasting, outcome};

pub(crate) const MILLION: u64 = 1_000_000;
/// Records that are scheduled for later, in front of a million others.
const SCHEDULED: u64 = MILLION / 10;
/// Records of each topic that is paused, in front of a million others.
const QUEUE: u64 = MILLION / 10;
/// Keys that are parked beside a million records, each in front of a hundred.
const PARKED_KEYS: u64 = MILLION / 1000;
/// Most buffers or rows that a call may cost for each lane, record and key that it is about.
pub(crate) const EACH: u64 = 12;
/// What counting may cost: each of its parts looks at no more rows of a table.
const COUNTING: u64 = 6 * 100_001 + 64 * EACH;

pub(crate) const COLUMNS: &str =
    "lane, id, format, event_type, event_version, topic, source, content_type,
    payload, size, ordering_key";

/// What a call has cost, in what the server counts.
pub(crate) struct Cost {
    call: &'static str,
    /// Buffers of the outbox on PostgreSQL, rows that were read on MariaDB.
    counted: u64,
    most: u64,
}

/// No call has cost more than what it is about.
pub(crate) fn assert_bounded(costs: &[Cost], plans: &str) {
    let told = |cost: &Cost| format!("{}: {} of {}", cost.call, cost.counted, cost.most);
    let told = costs.iter().map(told).collect::<Vec<_>>().join("\n");
    assert!(costs.iter().all(|cost| cost.counted <= cost.most), "{plans}:\n{told}");
}

/// A store with one connection, over which everything here goes: servers count by session, and
/// keep plans by session.
pub(crate) struct Hot {
    pub(crate) db: DatabaseConnection,
    pub(crate) store: SeaOrmStore,
    card: WorkerCard,
    sent: Arc<Mutex<Vec<String>>>,
}

impl Hot {
    pub(crate) async fn open(database: &TestDatabase) -> Self {
        let options = PoolOptions {
            max_connections: NonZeroU32::MIN,
            acquire_timeout: Duration::from_mins(1),
            statement_timeout: Duration::ZERO,
            ..PoolOptions::default()
        };
        let mut db = connect(&database.url, options).await.unwrap();
        let sent = Arc::<Mutex<Vec<String>>>::default();
        let log = Arc::clone(&sent);
        db.set_metric_callback(move |info| log.lock().unwrap().push(info.statement.sql.clone()));
        let store = SeaOrmStore::new(db.clone(), TableNames::default()).unwrap();
        let card = WorkerCard {
            id: WorkerId::new(),
            version: "0.1.0".to_owned(),
            max_format: Format::CURRENT,
            topics: Vec::new(),
            lacks: Vec::new(),
            wants_lanes: Some(64),
            alive_for: LEASE,
        };
        Self { db, store, card, sent }
    }

    pub(crate) async fn run(&self, sql: &str) {
        self.db.execute_unprepared(sql).await.unwrap();
    }

    /// So many records that are due, behind a tenth of scheduled ones, and as many of parked keys.
    pub(crate) async fn fill(&self, ready: u64) {
        let (values, id) = (self.values(), self.id());
        let keys = ready / 1000;
        let (own, parked) = ("CONCAT('', seq % 64)", format!("CONCAT('parked-', seq % {keys})"));
        let (now, hour) = self.now_and_hour();
        let columns = format!("{COLUMNS}, occurred_at, deliver_at, available_at");
        let rows = format!("{values}, {own}, {now}, {now} + {hour}, {now} + {hour}");
        self.insert("message", &columns, &rows, ready / 10).await;
        let columns = format!("{COLUMNS}, occurred_at");
        self.insert("message", &columns, &format!("{values}, {own}, {now}"), ready).await;
        let columns = format!("{COLUMNS}, occurred_at, created_at, parked_at, position");
        let rows = format!("{values}, {parked}, {now}, {now}, {now}, -seq");
        self.insert("parked", &columns, &rows, ready / 10).await;
        let columns = "lane, dead_id, topic, ordering_key, dead_lane, dead_position, parked_at";
        let rows = format!("seq % 64, {id}, 'orders', {parked}, seq % 64, -seq, {now}");
        self.insert("parked_key", columns, &rows, keys).await;
    }

    /// Queues of two topics that are paused, in front of all other records: one whose records failed
    /// and are due again, one whose records were never tried.
    pub(crate) async fn pause(&self) {
        let (now, hour) = self.now_and_hour();
        let row = |topic: &str| {
            let values = self.values().replace("'orders',", &format!("'{topic}',"));
            format!("{values}, CONCAT('', seq % 64), {now}")
        };
        let columns = format!("{COLUMNS}, occurred_at, position, available_at");
        // All of them at one instant, as what was scheduled for midnight is.
        let failed = now.replace("clock_", "statement_");
        let failed = format!("{}, -seq, {failed} - {hour}", row("failed"));
        self.insert("message", &columns, &failed, QUEUE).await;
        let fresh = format!("{}, -seq - {QUEUE}, NULL", row("fresh"));
        self.insert("message", &columns, &fresh, QUEUE).await;
    }

    /// Reads past what is paused, from behind the queues and from their start.
    ///
    /// Of a queue whose records are due again a read walks the part that it looks at, however much is
    /// due at one instant, and of the other one as far as it looks.
    pub(crate) async fn past(&self) -> Vec<Cost> {
        let withheld = |topic: &str| {
            let topic = Arc::from(topic);
            [
                Withheld::Ordered(Arc::clone(&topic)),
                Withheld::Destination { topic, transport: None },
            ]
        };
        let mut round = Round::begin(self).await;
        let past = |floor| {
            let without = ["failed", "fresh"].map(withheld).concat();
            ReadRequest { without, ..request(&[], floor) }
        };
        for (call, floor, most) in [
            ("read past what is due again", 0, FROM_START + DUE_LOOK),
            ("read past what was never tried", i64::MIN, FROM_START + DUE_LOOK + 3 * QUEUE),
        ] {
            let batch = round.call(call, most, self.store.read(&past(floor))).await;
            assert!(batch.records.iter().all(|record| &*record.message.topic == "orders"));
        }
        let mut due_only = past(i64::MAX);
        while due_only.lanes.iter().any(|read| read.due_behind != Some(DuePlace::END)) {
            let reading = self.store.read(&due_only);
            let batch = round.call("read on in what is due again", DUE_LOOK, reading).await;
            assert!(batch.is_empty() && batch.due_reached.len() == 64);
            let reached: HashMap<_, _> = batch.due_reached.into_iter().collect();
            for read in &mut due_only.lanes {
                read.due_behind = Some(reached[&read.lane]);
            }
        }
        round.costs
    }

    pub(crate) fn now_and_hour(&self) -> (&'static str, &'static str) {
        match self.db.get_database_backend() {
            DbBackend::Postgres => ("clock_timestamp()", "interval '1 hour'"),
            DbBackend::MySql => ("UTC_TIMESTAMP(6)", "INTERVAL 1 HOUR"),
            _ => ("unixepoch() * 1000000", "3600000000"),
        }
    }

    pub(crate) async fn insert(&self, table: &str, columns: &str, row: &str, count: u64) {
        let numbers = self.numbers(count);
        let insert = format!("INSERT INTO outbox_{table} ({columns}) SELECT {row} FROM {numbers}");
        self.run(&insert).await;
    }

    /// Rows with the numbers from 1, named `seq`.
    fn numbers(&self, count: u64) -> String {
        match self.db.get_database_backend() {
            DbBackend::Postgres => format!("generate_series(1, {count}) AS numbers (seq)"),
            DbBackend::MySql => format!("seq_1_to_{count}"),
            _ => format!(
                "(WITH RECURSIVE numbers (seq) AS (
                    SELECT 1 UNION ALL SELECT seq + 1 FROM numbers WHERE seq < {count}
                ) SELECT seq FROM numbers)"
            ),
        }
    }

    fn id(&self) -> &'static str {
        match self.db.get_database_backend() {
            DbBackend::Postgres => "gen_random_uuid()",
            DbBackend::MySql => "UNHEX(MD5(seq))",
            _ => "randomblob(16)",
        }
    }

    /// Values of [`COLUMNS`] but for the last one.
    pub(crate) fn values(&self) -> String {
        let payload = match self.db.get_database_backend() {
            DbBackend::Postgres => "'\\x7b7d'::bytea",
            _ => "x'7b7d'",
        };
        format!(
            "seq % 64, {}, 1, 'orders.order_placed', 1, 'orders', 'https://shop.example/orders',
            'application/json', {payload}, 100",
            self.id()
        )
    }

    /// The store's own statements about records since the last call, each once.
    pub(crate) fn sent(&self) -> Vec<String> {
        let mut sent = std::mem::take(&mut *self.sent.lock().unwrap());
        sent.retain(|sql| {
            ['"', '`'].iter().any(|q| sql.contains(&format!("{q}outbox_message{q}")))
        });
        sent.sort();
        sent.dedup();
        sent
    }

    /// Makes every hot call once and tells what each has cost.
    ///
    /// An outbox without records is settled in all the same, so that every statement is sent.
    pub(crate) async fn round(&self) -> Vec<Cost> {
        let mut round = Round::begin(self).await;
        let leases = round.lanes().await;
        let batch = round.reads().await;
        round.settlements(&leases, &batch).await;
        let again = request(&[], 0);
        round.call("read what is due again", FROM_START, self.store.read(&again)).await;
        round.call("release", 64 * EACH, self.store.release(&leases)).await;
        round.staging().await;
        round.costs
    }

    /// What the server has counted since the session began, or since the outbox was made.
    async fn counted(&self) -> u64 {
        let sql = match self.db.get_database_backend() {
            DbBackend::Sqlite => return 0,
            DbBackend::Postgres => {
                // The session's own counts are not told before they are flushed.
                self.run("SELECT pg_stat_force_next_flush()").await;
                "SELECT sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::bigint
                 FROM pg_statio_user_tables WHERE relname LIKE 'outbox%'"
            }
            _ => {
                "SELECT CAST(SUM(variable_value) AS SIGNED) FROM information_schema.session_status
                 WHERE variable_name LIKE 'Handler_read_%'"
            }
        };
        let counted: i64 = rows(&self.db, sql).await[0].try_get_by_index(0).unwrap();
        counted.try_into().unwrap()
    }
}

/// The calls of one round.
pub(crate) struct Round<'h> {
    hot: &'h Hot,
    pub(crate) costs: Vec<Cost>,
    /// What counting itself costs.
    overhead: u64,
}

impl<'h> Round<'h> {
    pub(crate) async fn begin(hot: &'h Hot) -> Self {
        hot.counted().await;
        let before = hot.counted().await;
        let overhead = hot.counted().await - before;
        Self { hot, costs: Vec::new(), overhead }
    }

    pub(crate) async fn call<T, E: std::fmt::Debug>(
        &mut self,
        call: &'static str,
        most: u64,
        work: impl Future<Output = Result<T, E>>,
    ) -> T {
        let before = self.hot.counted().await;
        let answer = work.await.unwrap();
        let counted = self.hot.counted().await - before - self.overhead;
        self.costs.push(Cost { call, counted, most });
        answer
    }

    async fn lanes(&mut self) -> Vec<LaneLease> {
        let Hot { store, card, .. } = self.hot;
        let request = LeaseRequest {
            owner: card.id,
            lanes: Lane::COUNT,
            lease: lasting(LEASE),
            orphans: Some(LEASE),
            except: Vec::new(),
            counts_abandoned: true,
        };
        let leases = self.call("lease", 64 * EACH, store.lease(&request)).await;
        assert_eq!(leases.len(), 64);
        self.call("renew", 64 * EACH, store.renew(&leases, lasting(LEASE))).await;
        let waiting = (128 + PARKED_KEYS) * EACH;
        self.call("acquired", waiting, store.acquired(&leases)).await;
        // It counts the lanes that are free.
        self.call("heartbeat", 64 * EACH, store.heartbeat(card)).await;
        self.call("stats", COUNTING, store.stats()).await;
        leases
    }

    async fn reads(&mut self) -> Batch {
        let store = &self.hot.store;
        let most = FROM_START;
        let batch = self.call("read", most, store.read(&request(&[], 0))).await;
        let known: Vec<Position> =
            batch.records.iter().map(|record| record.reference.position).collect();
        let most = most + 640 * EACH;
        self.call("read beside known ones", most, store.read(&request(&known, 0))).await;
        let last = "SELECT COALESCE(MAX(position), 0) FROM outbox_message";
        let last: i64 = rows(&self.hot.db, last).await[0].try_get_by_index(0).unwrap();
        let behind = request(&[], (last - 320).max(0));
        self.call("read behind a floor", 704 * EACH, store.read(&behind)).await;
        batch
    }

    /// The first record of each lane dies and parks its key, which is that of all others.
    async fn settlements(&mut self, leases: &[LaneLease], batch: &Batch) {
        let failure = Failure::new(FailureKind::Transient, "no route");
        let (reason, error) = (DeadReason::Rejected, "no".to_owned());
        let calls = [
            ("settle dead", 0..1, OutcomeKind::Dead { reason, error, parks_key: true }),
            ("settle parked", 1..2, OutcomeKind::Parked),
            ("settle failed", 2..3, OutcomeKind::Failed { failure, delay: Duration::ZERO }),
            ("settle published", 3..7, OutcomeKind::Published),
        ];
        for (call, nth, kind) in calls {
            let mut outcomes: Vec<Outcome> = Vec::new();
            for lease in leases {
                let records = &fresh(batch, lease.lane)[nth.clone()];
                outcomes.extend(records.iter().map(|at| outcome(lease, *at, kind.clone())));
            }
            let most = (64 + u64::try_from(outcomes.len()).unwrap()) * EACH;
            let settled = self.call(call, most, self.hot.store.settle(&outcomes)).await;
            let expected = if batch.records.is_empty() { 0 } else { outcomes.len() };
            assert_eq!(settled.applied.len(), expected, "{call}");
        }
    }

    async fn staging(&mut self) {
        for (call, about) in [("stage", 1), ("stage a hundred", 100)] {
            let events = (0..about).map(|total| OrderPlaced { order_id: 1, total });
            let staging = async {
                let txn = self.hot.db.begin().await?;
                txn.stage_all(events.collect::<Vec<_>>()).await?;
                txn.commit().await
            };
            self.call(call, u64::try_from(about).unwrap() * EACH, staging).await;
        }
    }
}

/// Ten records of each lane.
fn request(known: &[Position], floor: i64) -> ReadRequest {
    let lanes: Vec<u8> = (0..64).collect();
    let mut request = from_start(&lanes);
    for lane in &mut request.lanes {
        lane.floor = Position(floor);
    }
    request.known = known.to_vec();
    request.records = NonZeroU32::new(640).unwrap();
    request
}

/// What a read of all lanes from their start may cost: on PostgreSQL it passes what is scheduled.
const FROM_START: u64 = SCHEDULED + 704 * EACH;

/// What a look at some of the records of all lanes may cost that are due again: on an index and in the
/// table, and once more for what each lane needs.
const DUE_LOOK: u64 = 3 * 6400 + 64 * EACH;

/// Records of a lane that never waited, or made-up ones in their place.
fn fresh(batch: &Batch, lane: Lane) -> Vec<RecordRef> {
    if batch.records.is_empty() {
        let made_up =
            |position| RecordRef { id: EventId::new(), lane, position: Position(position) };
        return (1..=7).map(made_up).collect();
    }
    let records = batch.records.iter().filter(|record| record.available_at.is_none());
    let records = records.map(|record| record.reference);
    records.filter(|record| record.lane == lane).collect()
}
