//! An outbox under test: its store, and a hand in its tables.

use std::num::NonZeroU32;
use std::time::Duration;

use outbox_core::{
    Batch, EventId, Lane, LaneLease, LaneRead, LeaseRequest, LeaseTime, OutboxRecord, OutboxStore,
    Outcome, OutcomeKind, Position, ReadRequest, RecordRef, Settled, TableNames, WorkerId,
};
use outbox_seaorm::SeaOrmStore;
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DbBackend, QueryResult, Statement, TransactionTrait,
    TryGetable, Value,
};

use crate::database::TestDatabase;

/// Long enough for no test to see it end by itself.
pub(crate) const LEASE: Duration = Duration::from_mins(10);

pub(crate) struct Outbox {
    pub(crate) database: TestDatabase,
    pub(crate) db: DatabaseConnection,
    pub(crate) store: SeaOrmStore,
    pub(crate) worker: WorkerId,
}

impl Outbox {
    pub(crate) fn new(database: TestDatabase) -> Self {
        let db = database.db.clone();
        let workers = database.workers.clone();
        let store = SeaOrmStore::new(workers, TableNames::default()).unwrap();
        Self { database, db, store, worker: WorkerId::new() }
    }

    /// Another worker on the same outbox.
    pub(crate) fn other_worker(&self) -> Self {
        Self {
            database: self.database.clone(),
            db: self.db.clone(),
            store: self.store.clone(),
            worker: WorkerId::new(),
        }
    }

    pub(crate) fn is_mariadb(&self) -> bool {
        self.db.get_database_backend() == DbBackend::MySql
    }

    pub(crate) fn is_postgres(&self) -> bool {
        self.database.is_postgres()
    }

    pub(crate) async fn lease(&self, lanes: u8) -> Vec<LaneLease> {
        self.store.lease(&self.request(lanes)).await.unwrap()
    }

    pub(crate) fn request(&self, lanes: u8) -> LeaseRequest {
        LeaseRequest {
            owner: self.worker,
            lanes,
            lease: lasting(LEASE),
            orphans: None,
            except: Vec::new(),
            counts_abandoned: true,
        }
    }

    /// Reads some lanes from their start.
    pub(crate) async fn read(&self, lanes: &[u8]) -> Batch {
        self.store.read(&from_start(lanes)).await.unwrap()
    }

    /// Reads the one record of a lane.
    pub(crate) async fn read_one(&self, lane: u8) -> OutboxRecord {
        let batch = self.read(&[lane]).await;
        assert_eq!(batch.records.len(), 1, "lane {lane} has one record");
        batch.records.into_iter().next().unwrap()
    }

    pub(crate) async fn settle(&self, outcomes: &[Outcome]) -> Settled {
        self.store.settle(outcomes).await.unwrap()
    }

    /// Lets the lease of a lane end an hour ago.
    pub(crate) async fn expire(&self, lane: u8) {
        self.set_lane(lane, "expires_at", Some(-HOUR)).await;
    }

    /// Sets an instant of a lane, so far from the database's now.
    pub(crate) async fn set_lane(&self, lane: u8, column: &str, offset: Option<i64>) {
        let instant = self.instant(offset);
        self.run(&format!("UPDATE outbox_lane SET {column} = {instant} WHERE lane = {lane}")).await;
    }

    /// Puts a claim of a record into its table, which ends so far from the database's now.
    pub(crate) async fn insert_claim(&self, record: RecordRef, ends_in: i64) {
        let (lane, position) = (record.lane, record.position);
        let prefix = if self.is_postgres() { "" } else { "x" };
        let uuid = |id: uuid::Uuid| format!("{prefix}'{}'", id.simple());
        let (id, token) = (uuid(record.id.uuid()), uuid(uuid::Uuid::new_v4()));
        let (owner, expires_at) = (uuid(self.worker.uuid()), self.instant(Some(ends_in)));
        self.run(&format!(
            "INSERT INTO outbox_claim (lane, position, message_id, token, owner, expires_at)
             VALUES ({lane}, {position}, {id}, {token}, {owner}, {expires_at})"
        ))
        .await;
    }

    /// The database's now and so many microseconds, as an expression.
    pub(crate) fn instant(&self, offset: Option<i64>) -> String {
        match offset {
            None => "NULL".to_owned(),
            Some(micros) if self.is_postgres() => {
                format!("clock_timestamp() + {micros} * interval '1 microsecond'")
            }
            Some(micros) if self.is_mariadb() => {
                format!("UTC_TIMESTAMP(6) + INTERVAL {micros} MICROSECOND")
            }
            Some(micros) => format!(
                "CAST(strftime('%s', 'now') AS INTEGER) * 1000000
                 + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000 + {micros}"
            ),
        }
    }

    pub(crate) async fn run(&self, sql: &str) {
        self.db.execute_unprepared(sql).await.unwrap();
    }

    pub(crate) async fn rows(&self, sql: &str) -> Vec<QueryResult> {
        let statement = Statement::from_string(self.db.get_database_backend(), sql);
        self.db.query_all_raw(statement).await.unwrap()
    }

    /// The one value that a query answers.
    pub(crate) async fn value<T: TryGetable>(&self, sql: &str) -> T {
        let rows = self.rows(sql).await;
        assert_eq!(rows.len(), 1, "one row of {sql}");
        rows[0].try_get_by_index(0).unwrap()
    }

    pub(crate) async fn count(&self, table: &str) -> i64 {
        self.value(&format!("SELECT count(*) FROM outbox_{table}")).await
    }

    /// Positions that a table holds, in order.
    pub(crate) async fn positions(&self, table: &str) -> Vec<i64> {
        let rows =
            self.rows(&format!("SELECT position FROM outbox_{table} ORDER BY position")).await;
        rows.iter().map(|row| row.try_get_by_index(0).unwrap()).collect()
    }

    /// Commits a record.
    pub(crate) async fn insert(&self, sample: Sample) -> RecordRef {
        insert(&self.db, &sample).await
    }

    /// Commits so many records in a lane.
    pub(crate) async fn fill(&self, lane: u8, count: usize) -> Vec<RecordRef> {
        let txn = self.db.begin().await.unwrap();
        let mut records = Vec::new();
        for _ in 0..count {
            records.push(insert(&txn, &sample(lane)).await);
        }
        txn.commit().await.unwrap();
        records
    }
}

pub(crate) const SECOND: i64 = 1_000_000;
pub(crate) const HOUR: i64 = 3600 * SECOND;

pub(crate) fn lane(number: u8) -> Lane {
    Lane::new(number).unwrap()
}

pub(crate) fn lasting(time: Duration) -> LeaseTime {
    LeaseTime::new(time).unwrap()
}

pub(crate) fn from_start(lanes: &[u8]) -> ReadRequest {
    let read = |number: &u8| LaneRead::new(lane(*number), Position(0));
    ReadRequest {
        lanes: lanes.iter().map(read).collect(),
        known: Vec::new(),
        without: Vec::new(),
        records: NonZeroU32::new(1000).unwrap(),
        bytes: 1 << 30,
    }
}

pub(crate) fn positions(batch: &Batch) -> Vec<i64> {
    batch.records.iter().map(|record| record.reference.position.0).collect()
}

pub(crate) fn outcome(lease: &LaneLease, record: RecordRef, kind: OutcomeKind) -> Outcome {
    Outcome { record, token: lease.token, revision: 0, kind }
}

pub(crate) fn published(lease: &LaneLease, records: &[RecordRef]) -> Vec<Outcome> {
    records.iter().map(|record| outcome(lease, *record, OutcomeKind::Published)).collect()
}

/// A row to insert, as staging would, and then changed at will.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    lane: u8,
    id: EventId,
    /// Columns beyond the necessary ones, each with an expression.
    changed: Vec<(&'static str, String)>,
}

pub(crate) fn sample(lane: u8) -> Sample {
    Sample { lane, id: EventId::new(), changed: Vec::new() }
}

impl Sample {
    pub(crate) fn id(mut self, id: EventId) -> Self {
        self.id = id;
        self
    }

    pub(crate) fn key(self, key: &str) -> Self {
        self.with("ordering_key", &format!("'{key}'"))
    }

    /// Sets a column to an expression.
    pub(crate) fn with(mut self, column: &'static str, expression: &str) -> Self {
        self.changed.retain(|(changed, _)| *changed != column);
        self.changed.push((column, expression.to_owned()));
        self
    }

    fn statement(&self, backend: DbBackend) -> String {
        let hex = self.id.uuid().simple().to_string();
        let (id, bytes) = match backend {
            DbBackend::Postgres => (format!("'{hex}'"), "'\\x7b7d'"),
            _ => (format!("x'{hex}'"), "x'7b7d'"),
        };
        let occurred = match backend {
            DbBackend::MySql => "'2026-01-01 00:00:00'",
            DbBackend::Postgres => "'2026-01-01 00:00:00Z'",
            _ => "1767225600000000",
        };
        let mut columns = vec![
            ("lane", self.lane.to_string()),
            ("id", id),
            ("format", "1".to_owned()),
            ("event_type", "'orders.order_placed'".to_owned()),
            ("event_version", "1".to_owned()),
            ("topic", "'orders'".to_owned()),
            ("source", "'https://shop.example/orders'".to_owned()),
            ("content_type", "'application/json'".to_owned()),
            ("payload", bytes.to_owned()),
            ("size", "100".to_owned()),
            ("occurred_at", occurred.to_owned()),
        ];
        columns.retain(|(column, _)| self.changed.iter().all(|(changed, _)| changed != column));
        columns.extend(self.changed.iter().cloned());
        let (names, values): (Vec<&str>, Vec<String>) = columns.into_iter().unzip();
        let (names, values) = (names.join(", "), values.join(", "));
        format!("INSERT INTO outbox_message ({names}) VALUES ({values}) RETURNING position")
    }
}

/// Inserts a record on this connection or in this transaction.
pub(crate) async fn insert(db: &impl ConnectionTrait, sample: &Sample) -> RecordRef {
    let backend = db.get_database_backend();
    let sql = sample.statement(backend);
    let statement = Statement::from_sql_and_values(backend, sql, Vec::<Value>::new());
    let row = db.query_one_raw(statement).await.unwrap().unwrap();
    let position = Position(row.try_get_by_index(0).unwrap());
    RecordRef { id: sample.id, lane: lane(sample.lane), position }
}

/// Settles in all lanes and renews them, twice each at once and in either order, so many times.
pub(crate) async fn settle_and_renew_at_once(outbox: &Outbox, rounds: usize) {
    let leases = outbox.lease(64).await;
    // Of records that are not there: their lanes are locked all the same.
    let of_nothing = |lease: &LaneLease| {
        let gone = RecordRef { id: EventId::new(), lane: lease.lane, position: Position(1) };
        outcome(lease, gone, OutcomeKind::Published)
    };
    let outcomes: Vec<Outcome> = leases.iter().rev().map(of_nothing).collect();
    let backwards: Vec<LaneLease> = leases.iter().rev().copied().collect();
    let settle = |outcomes: Vec<Outcome>| {
        let store = outbox.store.clone();
        tokio::spawn(async move {
            for _ in 0..rounds {
                store.settle(&outcomes).await.unwrap();
            }
        })
    };
    let renew = |leases: Vec<LaneLease>| {
        let store = outbox.store.clone();
        tokio::spawn(async move {
            for _ in 0..rounds {
                assert_eq!(store.renew(&leases, lasting(LEASE)).await.unwrap().len(), 64);
            }
        })
    };
    let running = [settle(outcomes.clone()), settle(outcomes), renew(leases), renew(backwards)];
    for ended in futures_util::future::join_all(running).await {
        ended.unwrap();
    }
}
