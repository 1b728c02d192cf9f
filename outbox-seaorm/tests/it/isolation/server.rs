//! What the schedule asks of the database: who waits for a lock, and what time it is.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use outbox_seaorm::{PoolOptions, connect};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, QueryResult};

use super::gate::Gate;
use crate::database::{TestDatabase, rows};

/// How far the clock goes when time passes: beyond every lease that a test grants.
const HOUR: i64 = 3_600_000_000;

/// The clock of a MariaDB's sessions. Of others it is moved elsewhere.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock {
    ahead: Option<Arc<AtomicI64>>,
}

impl Clock {
    /// What sets a session's clock, before each statement.
    pub(crate) fn statement(&self) -> Option<String> {
        let ahead = self.ahead.as_ref()?.load(Ordering::SeqCst);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let micros = i64::try_from(now.as_micros()).unwrap() + ahead;
        Some(format!("SET timestamp = {}.{:06}", micros / 1_000_000, micros % 1_000_000))
    }
}

/// The database under test, beside the sessions.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) db: DatabaseConnection,
    pub(crate) backend: DbBackend,
    pub(crate) url: String,
    pub(crate) clock: Clock,
}

/// A clock that is told how far to go ahead, and that all unqualified calls find first. It sees what
/// is committed at each call, so that time also passes while a statement waits.
///
/// The isolation that is the default on a MariaDB is it here as well: the worker's sessions choose
/// their own. What a test commits need not outlive the server.
const POSTGRES_CLOCK: &str = "
    CREATE SCHEMA clock;
    CREATE TABLE clock.ahead (ahead interval NOT NULL);
    INSERT INTO clock.ahead VALUES ('0');
    CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS $$
    BEGIN RETURN pg_catalog.clock_timestamp() + (SELECT ahead FROM clock.ahead); END $$;
    DO $$ BEGIN EXECUTE format(
        'ALTER DATABASE %I SET search_path = clock, pg_catalog, public', current_database());
    EXECUTE format(
        'ALTER DATABASE %I SET default_transaction_isolation = ''repeatable read''',
        current_database());
    EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database());
    END $$";

impl Server {
    pub(crate) async fn open(database: &TestDatabase) -> Self {
        let mut db = database.db.clone();
        let (backend, clock) = (db.get_database_backend(), Clock::default());
        if backend == DbBackend::Sqlite {
            // Told at once that somebody writes.
            let options = PoolOptions { lock_timeout: Duration::ZERO, ..PoolOptions::default() };
            db = connect(&database.url, options).await.unwrap();
        }
        Self { db, backend, url: database.url.clone(), clock }
    }

    /// With a clock that can be moved.
    pub(crate) async fn with_clock(database: &TestDatabase) -> Self {
        let mut server = Self::open(database).await;
        match server.backend {
            DbBackend::MySql => server.clock.ahead = Some(Arc::default()),
            DbBackend::Postgres => {
                server.db.execute_unprepared(POSTGRES_CLOCK).await.unwrap();
            }
            _ => {}
        }
        server
    }

    pub(crate) fn is_postgres(&self) -> bool {
        self.backend == DbBackend::Postgres
    }

    pub(crate) fn is_sqlite(&self) -> bool {
        self.backend == DbBackend::Sqlite
    }

    /// Sets the clock right.
    pub(crate) async fn set_right(&self) {
        self.set_clock(0).await;
    }

    /// Lets an hour pass, unless a writer holds the database.
    pub(crate) async fn let_pass(&self) -> bool {
        if !self.is_sqlite() {
            self.set_clock(HOUR).await;
            return true;
        }
        // No session has a clock of its own there, so the leases are made an hour older.
        let age = format!("UPDATE outbox_lane SET expires_at = expires_at - {HOUR}");
        self.db.execute_unprepared(&age).await.is_ok()
    }

    async fn set_clock(&self, ahead: i64) {
        if let Some(clock) = &self.clock.ahead {
            clock.store(ahead, Ordering::SeqCst);
        } else if self.is_postgres() {
            let set = format!("UPDATE clock.ahead SET ahead = {ahead} * interval '1 microsecond'");
            self.db.execute_unprepared(&set).await.unwrap();
        }
    }

    /// Which of these sessions wait for a lock that another one holds.
    pub(crate) async fn waiting(&self, sessions: &[(usize, &Gate)]) -> HashSet<usize> {
        let connections: Vec<(usize, u64)> = sessions
            .iter()
            .flat_map(|(session, gate)| gate.connections().into_iter().map(|it| (*session, it)))
            .collect();
        let waiting = match self.backend {
            _ if connections.is_empty() => HashSet::new(),
            DbBackend::MySql => self.waiting_on_mariadb().await,
            DbBackend::Postgres => self.waiting_on_postgres(&connections).await,
            _ => HashSet::new(),
        };
        let waits = |(session, number): (usize, u64)| waiting.contains(&number).then_some(session);
        connections.into_iter().filter_map(waits).collect()
    }

    async fn waiting_on_postgres(&self, connections: &[(usize, u64)]) -> HashSet<u64> {
        let numbers: Vec<String> = connections.iter().map(|(_, it)| it.to_string()).collect();
        let numbers = numbers.join(", ");
        let sql = format!(
            "SELECT pid FROM unnest(ARRAY[{numbers}]) AS pid
             WHERE cardinality(pg_blocking_pids(pid)) > 0"
        );
        let number = |row: &QueryResult| row.try_get_by_index::<i32>(0).unwrap();
        rows(&self.db, &sql).await.iter().map(|row| u64::try_from(number(row)).unwrap()).collect()
    }

    /// From the report about this moment: the server's tables about locks are renewed only while
    /// nobody asks them. Locks of whole tables and those by name are in the list of the sessions.
    async fn waiting_on_mariadb(&self) -> HashSet<u64> {
        let status: String =
            rows(&self.db, "SHOW ENGINE INNODB STATUS").await[0].try_get("", "Status").unwrap();
        let (_, transactions) = status.split_once("\nTRANSACTIONS\n").unwrap_or_default();
        let of_rows = transactions
            .split("---TRANSACTION")
            .filter(|transaction| transaction.contains("\nLOCK WAIT "))
            .filter_map(|transaction| {
                let (_, behind) = transaction.split_once("thread id ")?;
                behind.split(',').next()?.parse().ok()
            });
        let others = "SELECT CAST(id AS SIGNED) FROM information_schema.processlist
            WHERE state LIKE 'Waiting for%lock' OR state = 'User lock'";
        let of_tables = rows(&self.db, others).await;
        let number = |row: &QueryResult| row.try_get_by_index::<i64>(0).unwrap();
        of_rows.chain(of_tables.iter().map(|row| u64::try_from(number(row)).unwrap())).collect()
    }

    /// Fails if sessions of this database ended in a deadlock, which the store repeats by itself.
    pub(crate) async fn assert_no_deadlock(&self) {
        if self.backend != DbBackend::MySql {
            return;
        }
        let status: String =
            rows(&self.db, "SHOW ENGINE INNODB STATUS").await[0].try_get("", "Status").unwrap();
        let deadlock = status.split_once("LATEST DETECTED DEADLOCK").map(|(_, behind)| behind);
        let deadlock = deadlock.and_then(|behind| behind.split("\nTRANSACTIONS\n").next());
        let name: String =
            rows(&self.db, "SELECT DATABASE()").await[0].try_get_by_index(0).unwrap();
        let ours = deadlock.is_some_and(|text| text.contains(&format!("table `{name}`.")));
        assert!(!ours, "{}", deadlock.unwrap_or_default());
    }
}
