//! The store over a SeaORM connection.

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
pub(crate) mod brief;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
mod clocked;
#[cfg(feature = "sqlite")]
pub(crate) mod immediate;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod privileges;
mod probe;
mod sessions;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use outbox_core::{
    Batch, ClaimRefused, Clock, Failure, Fleet, LaneLease, LaneState, LeaseRequest, LeaseTime,
    OutboxStats, OutboxStore, Outcome, ReadRequest, RecordClaim, RecordClaims, RecordRef, Settled,
    StoreError, StoreErrorKind, TableNames, WorkerCard, WorkerId,
};
use sea_orm::{DatabaseConnection, DbBackend};
use sessions::Sessions;

/// The records of one outbox in PostgreSQL, SQLite, MariaDB or MySQL.
///
/// It speaks to the database through one pool and holds nothing else: clones share the pool, and
/// any number of stores and processes may serve one outbox. Each call is one short transaction; only
/// a settlement of several hundred outcomes takes more than one. It divides a lane only where the
/// database refuses one of its records: the others settle, and that one rests for a minute as failed.
/// After a write that a server refuses because it takes none, the pool's idle connections are
/// replaced: after a failover they may be with a server that is the primary no longer.
///
/// A call has no time limit of its own. Give the pool limits on the server, as
/// [`connect`](crate::connect) does, and await each call under a time limit as well: a connection
/// that is half gone answers nothing, ever.
#[derive(Clone)]
pub struct SeaOrmStore {
    dialect: Arc<dyn Dialect>,
    tables: TableNames,
    sessions: Sessions,
}

/// What a database does for the store.
#[async_trait]
trait Dialect: OutboxStore + RecordClaims {
    async fn check(&self) -> Result<(), StoreError>;
    async fn check_tables(&self) -> Result<(), StoreError>;
}

/// The calls of a store, each by the statements that are named like it.
///
/// Written once for all databases: their stores differ in the types of the statements alone.
macro_rules! by_statements {
    ($store:ty) => {
        #[async_trait::async_trait]
        impl outbox_core::OutboxStore for $store {
            async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LaneLease>, StoreError> {
                self.statements.now().lanes.lease(&self.db, request).await
            }

            async fn renew(
                &self,
                leases: &[LaneLease],
                lease: LeaseTime,
            ) -> Result<Vec<LaneLease>, StoreError> {
                self.statements.now().lanes.renew(&self.db, leases, lease).await
            }

            async fn release(&self, leases: &[LaneLease]) -> Result<(), StoreError> {
                self.statements.now().lanes.release(&self.db, leases).await
            }

            async fn acquired(&self, leases: &[LaneLease]) -> Result<Vec<LaneState>, StoreError> {
                // Before the keys: a failure that ends a claim in between is told twice rather
                // than not at all.
                let statements = self.statements.now();
                let claimed = statements.claims.acquired(&self.db, leases).await?;
                let mut states = statements.lanes.acquired(&self.db, leases).await?;
                crate::statement::claim::add(&mut states, leases, claimed);
                Ok(states)
            }

            async fn mark_suspect(
                &self,
                lease: &LaneLease,
                record: Option<RecordRef>,
            ) -> Result<bool, StoreError> {
                self.statements.now().lanes.mark_suspect(&self.db, lease, record).await
            }

            async fn read(&self, request: &ReadRequest) -> Result<Batch, StoreError> {
                self.statements.now().read.read(&self.db, request).await
            }

            async fn settle(&self, outcomes: &[Outcome]) -> Result<Settled, StoreError> {
                self.statements.now().settle.settle(&self.db, outcomes).await
            }

            async fn stats(&self) -> Result<OutboxStats, StoreError> {
                self.statements.now().stats.stats(&self.db).await
            }

            async fn heartbeat(&self, worker: &WorkerCard) -> Result<Fleet, StoreError> {
                self.statements.now().heartbeat.heartbeat(&self.db, worker).await
            }
        }

        #[async_trait::async_trait]
        impl outbox_core::RecordClaims for $store {
            async fn try_claim(
                &self,
                record: &RecordRef,
                owner: WorkerId,
                lease: LeaseTime,
            ) -> Result<Result<RecordClaim, ClaimRefused>, StoreError> {
                self.statements.now().claims.try_claim(&self.db, record, owner, lease).await
            }

            async fn renew_claim(
                &self,
                claim: &RecordClaim,
                lease: LeaseTime,
            ) -> Result<bool, StoreError> {
                self.statements.now().claims.renew_claim(&self.db, claim, lease).await
            }

            async fn complete_claim(&self, claim: &RecordClaim) -> Result<bool, StoreError> {
                self.statements.now().claims.complete_claim(&self.db, claim).await
            }

            async fn fail_claim(
                &self,
                claim: &RecordClaim,
                failure: &Failure,
                delay: Duration,
            ) -> Result<bool, StoreError> {
                self.statements.now().claims.fail_claim(&self.db, claim, failure, delay).await
            }
        }
    };
}

#[cfg(feature = "mysql")]
by_statements!(mysql::MySqlStore);
#[cfg(feature = "postgres")]
by_statements!(postgres::PostgresStore);
#[cfg(feature = "sqlite")]
by_statements!(sqlite::SqliteStore);

impl SeaOrmStore {
    /// A store over this pool, for the outbox with these tables. It asks the database nothing.
    ///
    /// Except on SQLite the pool's sessions must be READ COMMITTED by default, as those of
    /// [`connect`](crate::connect) are. Under a higher level a settlement fails on PostgreSQL
    /// whenever a lease is renewed meanwhile, and on MariaDB and MySQL the store locks what it does
    /// not touch. [`SeaOrmStore::check`] tells.
    ///
    /// # Errors
    /// [`StoreErrorKind::InvalidArgument`] for a database without a store, or whose feature of
    /// this crate is off.
    pub fn new(db: DatabaseConnection, tables: TableNames) -> Result<Self, StoreError> {
        Self::build(db, tables, None)
    }

    /// A store as [`SeaOrmStore::new`] makes it that goes by this clock and never asks its database
    /// for the time: for tests that meet the very instant at which a lease ends or a record becomes
    /// due, and for a look at the outbox as of a fixed instant, which is a [`Clock`] too.
    ///
    /// Each call goes by what the clock shows when it begins, to the microsecond. Staging is no call
    /// of the store: what it writes, when a record was created and when a delayed one is due, is by
    /// the database's clock. All stores of one outbox must go by one clock, or a lease of one has
    /// ended for the other. Its statements are written anew for each call, which costs more than the
    /// database's clock does.
    ///
    /// # Errors
    /// As [`SeaOrmStore::new`]. An instant that the database cannot hold fails each call.
    pub fn with_clock(
        db: DatabaseConnection,
        tables: TableNames,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StoreError> {
        Self::build(db, tables, Some(clock))
    }

    fn build(
        db: DatabaseConnection,
        tables: TableNames,
        clock: Option<Arc<dyn Clock>>,
    ) -> Result<Self, StoreError> {
        let sessions = Sessions::of(&db);
        let dialect: Arc<dyn Dialect> = match db.get_database_backend() {
            #[cfg(feature = "mysql")]
            DbBackend::MySql => Arc::new(mysql::MySqlStore::new(db, &tables, clock)),
            #[cfg(feature = "postgres")]
            DbBackend::Postgres => Arc::new(postgres::PostgresStore::new(db, &tables, clock)),
            #[cfg(feature = "sqlite")]
            DbBackend::Sqlite => Arc::new(sqlite::SqliteStore::new(db, &tables, clock)),
            #[cfg(not(all(feature = "mysql", feature = "postgres", feature = "sqlite")))]
            _ => return Err(refuse("the feature of outbox-seaorm for this database is off")),
            #[cfg(all(feature = "mysql", feature = "postgres", feature = "sqlite"))]
            _ => return Err(refuse("there is no outbox store for this database")),
        };
        Ok(Self { dialect, tables, sessions })
    }

    /// Checks once, before work begins, that the outbox's tables are there and that the
    /// connection is fit for them: a dispatcher can do all of its work.
    ///
    /// # Errors
    /// [`StoreErrorKind::SchemaMissing`] if the tables are missing or outdated,
    /// [`StoreErrorKind::PermissionDenied`] if the role lacks a privilege, whose source names the
    /// grants that are missing, [`StoreErrorKind::ReadOnly`] if the database takes no writes,
    /// [`StoreErrorKind::InvalidArgument`] if the connection's default isolation is too high, or on
    /// MariaDB and MySQL its SQL mode too lax, and the database's own.
    pub async fn check(&self) -> Result<(), StoreError> {
        self.dialect.check().await
    }

    /// Checks that the outbox's tables are there and can be read, which is all that
    /// [`stats`](OutboxStore::stats) needs.
    ///
    /// # Errors
    /// [`StoreErrorKind::SchemaMissing`] if the tables are missing or outdated,
    /// [`StoreErrorKind::PermissionDenied`] if the role may not read them, and the database's own.
    pub async fn check_tables(&self) -> Result<(), StoreError> {
        self.dialect.check_tables().await
    }
}

const fn refuse(why: &'static str) -> StoreError {
    StoreError::new(StoreErrorKind::InvalidArgument, why)
}

/// Without the pool, which may show where it connects to.
impl fmt::Debug for SeaOrmStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeaOrmStore").field("tables", &self.tables).finish_non_exhaustive()
    }
}

#[async_trait]
impl OutboxStore for SeaOrmStore {
    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LaneLease>, StoreError> {
        self.sessions.during(self.dialect.lease(request)).await
    }

    async fn renew(
        &self,
        leases: &[LaneLease],
        lease: LeaseTime,
    ) -> Result<Vec<LaneLease>, StoreError> {
        if leases.is_empty() {
            return Ok(Vec::new());
        }
        self.sessions.during(self.dialect.renew(leases, lease)).await
    }

    async fn release(&self, leases: &[LaneLease]) -> Result<(), StoreError> {
        if leases.is_empty() {
            return Ok(());
        }
        self.sessions.during(self.dialect.release(leases)).await
    }

    async fn acquired(&self, leases: &[LaneLease]) -> Result<Vec<LaneState>, StoreError> {
        if leases.is_empty() {
            return Ok(Vec::new());
        }
        self.sessions.during(self.dialect.acquired(leases)).await
    }

    async fn mark_suspect(
        &self,
        lease: &LaneLease,
        record: Option<RecordRef>,
    ) -> Result<bool, StoreError> {
        self.sessions.during(self.dialect.mark_suspect(lease, record)).await
    }

    async fn read(&self, request: &ReadRequest) -> Result<Batch, StoreError> {
        self.sessions.during(self.dialect.read(request)).await
    }

    async fn settle(&self, outcomes: &[Outcome]) -> Result<Settled, StoreError> {
        self.sessions.during(self.dialect.settle(outcomes)).await
    }

    async fn stats(&self) -> Result<OutboxStats, StoreError> {
        self.sessions.during(self.dialect.stats()).await
    }

    async fn heartbeat(&self, worker: &WorkerCard) -> Result<Fleet, StoreError> {
        self.sessions.during(self.dialect.heartbeat(worker)).await
    }
}

/// Beyond what a worker needs, the role must be allowed to insert into the table of claims and to
/// update it.
#[async_trait]
impl RecordClaims for SeaOrmStore {
    async fn try_claim(
        &self,
        record: &RecordRef,
        owner: WorkerId,
        lease: LeaseTime,
    ) -> Result<Result<RecordClaim, ClaimRefused>, StoreError> {
        self.sessions.during(self.dialect.try_claim(record, owner, lease)).await
    }

    async fn renew_claim(&self, claim: &RecordClaim, lease: LeaseTime) -> Result<bool, StoreError> {
        self.sessions.during(self.dialect.renew_claim(claim, lease)).await
    }

    async fn complete_claim(&self, claim: &RecordClaim) -> Result<bool, StoreError> {
        self.sessions.during(self.dialect.complete_claim(claim)).await
    }

    async fn fail_claim(
        &self,
        claim: &RecordClaim,
        failure: &Failure,
        delay: Duration,
    ) -> Result<bool, StoreError> {
        self.sessions.during(self.dialect.fail_claim(claim, failure, delay)).await
    }
}
