//! The outbox in a database, and its clock.
//!
//! The clock of PostgreSQL and of MariaDB is set to what the test says and stands still, so that
//! both sides meet the very instants at which leases end and records become due. SQLite has no such
//! clock: there all instants that are stored are moved into the past instead.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, DurationRound, TimeDelta, Utc};
use outbox_core::{
    Format, OutboxStore, RecordClaims, RecordRef, StagedMessage, TableNames, TopicProfile,
};
use outbox_seaorm::{OutboxSettings, PoolOptions, SeaOrmStore, Stage, scope};
use outbox_test_databases::{Lent, number, run};
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DatabaseTransaction, IsolationLevel, TransactionTrait,
};

/// The functions by which statements ask PostgreSQL for the time. The path of the database puts
/// these before the server's own.
const POSTGRES_CLOCK: [&str; 3] = [
    "CREATE TABLE test_clock AS SELECT 'epoch'::timestamptz AS instant",
    "CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
        AS 'SELECT instant FROM public.test_clock'",
    "CREATE FUNCTION statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE
        AS 'SELECT instant FROM public.test_clock'",
];

/// Every instant that SQLite stores and compares with its clock.
const SQLITE_INSTANTS: [(&str, &[&str]); 7] = [
    ("message", &["created_at", "deliver_at", "available_at", "first_failed_at"]),
    ("dead_letter", &["created_at", "deliver_at", "available_at", "first_failed_at", "died_at"]),
    ("parked", &["created_at", "deliver_at", "available_at", "first_failed_at", "parked_at"]),
    ("parked_key", &["parked_at"]),
    ("lane", &["expires_at"]),
    ("claim", &["expires_at"]),
    ("worker", &["started_at", "seen_at"]),
];

/// A store whose records can be claimed, too.
pub(super) trait Store: OutboxStore + RecordClaims {}

impl<S: OutboxStore + RecordClaims> Store for S {}

/// One outbox, used by one run after the other.
pub(super) struct Outbox {
    pub(super) store: Arc<dyn Store>,
    pub(super) application: DatabaseConnection,
    /// One connection: what is set in its session is set for all calls of the store.
    sessions: DatabaseConnection,
    database: Lent,
}

impl Outbox {
    pub(super) async fn open(database: Lent) -> Self {
        if database.is_postgres() {
            set_up_postgres_clock(&database).await;
        }
        let application = database.connect_with(4).await;
        outbox_migration::migrate(&application).await.unwrap();
        let options =
            PoolOptions { max_connections: NonZeroU32::new(1).unwrap(), ..PoolOptions::default() };
        let sessions = outbox_seaorm::connect(&database.url, options).await.unwrap();
        let store = SeaOrmStore::new(sessions.clone(), TableNames::default()).unwrap();
        Self { store: Arc::new(store), application, sessions, database }
    }

    /// Whether the database lets one transaction write at a time.
    pub(super) fn has_one_writer(&self) -> bool {
        self.is_sqlite()
    }

    pub(super) fn is_postgres(&self) -> bool {
        self.database.is_postgres()
    }

    pub(super) fn is_mariadb(&self) -> bool {
        self.database.is_mariadb()
    }

    /// Takes everything out of the tables and sets the clock.
    pub(super) async fn empty(&self, now: DateTime<Utc>) {
        for table in ["message", "dead_letter", "parked", "parked_key", "claim", "worker"] {
            run(&self.application, &format!("DELETE FROM outbox_{table}")).await;
        }
        let free = "UPDATE outbox_lane SET token = NULL, owner = NULL, expires_at = NULL
            WHERE expires_at IS NOT NULL";
        run(&self.application, free).await;
        self.set_clock(Duration::ZERO, now).await;
    }

    /// How long a step of so many hours is.
    ///
    /// Where the clock runs on by itself, no sum of steps makes whole hours: nothing ends at the
    /// very instant at which it is looked at.
    pub(super) fn step(&self, hours: u8) -> Duration {
        let odd = if self.is_sqlite() { 7 } else { 0 };
        Duration::from_mins(60 * u64::from(hours) + odd)
    }

    /// Moves the clock on by this long, to this instant.
    pub(super) async fn set_clock(&self, by: Duration, now: DateTime<Utc>) {
        let (micros, at) = (by.as_micros(), now.timestamp_micros());
        if self.is_postgres() {
            let sql = format!(
                "UPDATE test_clock SET instant = 'epoch'::timestamptz + {at} * interval '1 microsecond'"
            );
            return run(&self.application, &sql).await;
        }
        if self.is_mariadb() {
            return set_session(&self.sessions, now).await;
        }
        for (table, instants) in SQLITE_INSTANTS {
            let moved = instants.iter().map(|instant| format!("{instant} = {instant} - {micros}"));
            let moved = moved.collect::<Vec<_>>().join(", ");
            run(&self.application, &format!("UPDATE outbox_{table} SET {moved}")).await;
        }
    }

    /// A stored instant on the clock of the test.
    pub(super) fn instant(&self, stored: DateTime<Utc>, now: DateTime<Utc>) -> DateTime<Utc> {
        if !self.is_sqlite() {
            return stored;
        }
        let moved = now + (stored - Utc::now());
        moved.duration_round(TimeDelta::minutes(1)).unwrap()
    }

    /// A time that a store has counted, as exact as its clock.
    pub(super) fn time(&self, counted: Duration) -> Duration {
        if !self.is_sqlite() {
            return counted;
        }
        Duration::from_mins((counted.as_secs() + 30) / 60)
    }

    pub(super) async fn begin(&self) -> Writer {
        // On MariaDB, raising a format would lock the gap that another writer inserts into.
        let isolation = self.is_mariadb().then_some(IsolationLevel::ReadCommitted);
        let writer = self.application.begin_with_config(isolation, None).await.unwrap();
        Writer { levels: vec![writer], session_clock: None }
    }

    /// Makes the stored row of a record undecodable.
    pub(super) async fn damage(&self, record: RecordRef) {
        let place = format!("lane = {} AND position = {}", record.lane, record.position);
        let broken = if self.is_mariadb() { "CONCAT('{', headers)" } else { "'{' || headers" };
        let sql = format!("UPDATE outbox_message SET headers = {broken} WHERE {place}");
        run(&self.application, &sql).await;
    }

    fn is_sqlite(&self) -> bool {
        !self.is_postgres() && !self.is_mariadb()
    }
}

async fn set_up_postgres_clock(database: &Lent) {
    let db = database.connect_with(1).await;
    for statement in POSTGRES_CLOCK {
        run(&db, statement).await;
    }
    let name = database.name();
    run(&db, &format!("ALTER DATABASE {name} SET search_path = public, pg_catalog")).await;
    // Nothing here is about what survives a crash of the server.
    run(&db, &format!("ALTER DATABASE {name} SET synchronous_commit = off")).await;
    db.close().await.unwrap();
}

/// Sets the clock of a session of MariaDB.
async fn set_session(db: &impl ConnectionTrait, now: DateTime<Utc>) {
    let (seconds, micros) = (now.timestamp(), now.timestamp_subsec_micros());
    run(db, &format!("SET timestamp = {seconds}.{micros:06}")).await;
}

/// An open transaction of the application, with its open savepoints.
pub(super) struct Writer {
    levels: Vec<DatabaseTransaction>,
    /// What the clock of its session was set to, where sessions have one.
    session_clock: Option<DateTime<Utc>>,
}

impl Writer {
    pub(super) async fn stage(
        &mut self,
        mut message: StagedMessage,
        outbox: &Outbox,
        now: DateTime<Utc>,
    ) {
        let format = std::mem::replace(&mut message.message.format, Format::CURRENT);
        let innermost = self.levels.last().unwrap();
        if outbox.is_mariadb() && self.session_clock.replace(now) != Some(now) {
            set_session(innermost, now).await;
        }
        let profile = TopicProfile::default().with_limit(TopicProfile::LARGEST_LIMIT).unwrap();
        let settings = OutboxSettings::new("https://shop.example").default_profile(profile);
        scope(settings, innermost.stage_encoded([message])).await.unwrap();
        if format != Format::CURRENT {
            // As a newer version stages it, which this one does not.
            let last = number(innermost, "SELECT max(position) FROM outbox_message").await;
            let format = format.0;
            let raise =
                format!("UPDATE outbox_message SET format = {format} WHERE position = {last}");
            innermost.execute_unprepared(&raise).await.unwrap();
        }
    }

    pub(super) async fn savepoint(&mut self) {
        let savepoint = self.levels.last().unwrap().begin().await.unwrap();
        self.levels.push(savepoint);
    }

    /// Whether there was a savepoint.
    pub(super) async fn release_savepoint(&mut self) -> bool {
        if self.levels.len() < 2 {
            return false;
        }
        self.levels.pop().unwrap().commit().await.unwrap();
        true
    }

    /// Whether there was a savepoint.
    pub(super) async fn roll_back_to_savepoint(&mut self) -> bool {
        if self.levels.len() < 2 {
            return false;
        }
        self.levels.pop().unwrap().rollback().await.unwrap();
        true
    }

    pub(super) async fn commit(mut self) {
        while let Some(level) = self.levels.pop() {
            level.commit().await.unwrap();
        }
    }

    pub(super) async fn roll_back(mut self) {
        while let Some(level) = self.levels.pop() {
            level.rollback().await.unwrap();
        }
    }
}
