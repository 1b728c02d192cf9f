//! The store on PostgreSQL.

use async_trait::async_trait;
use outbox_core::{
    Batch, Fleet, Lane, LaneLease, LaneState, LeaseRequest, LeaseTime, OutboxStats, OutboxStore,
    Outcome, ReadRequest, Settled, StoreError, StoreErrorKind, TableNames, WorkerCard,
};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, QueryResult, Statement, TryGetable};

use super::privileges::postgres::lacking;
use super::privileges::{ALL, READ};
use super::probe::{explained, lanes, probes};
use super::{Dialect, refuse};
use crate::mapping::{Cause, failed, unreadable};
use crate::statement::fleet::postgres::Heartbeat;
use crate::statement::lane::postgres::Lanes;
use crate::statement::read::postgres::Read;
use crate::statement::settle::postgres::Settle;
use crate::statement::stats::postgres::Stats;

/// The statements of one outbox and the pool that they run on.
#[derive(Debug)]
pub(super) struct PostgresStore {
    db: DatabaseConnection,
    lanes: Lanes,
    read: Read,
    settle: Settle,
    stats: Stats,
    heartbeat: Heartbeat,
    probes: Vec<String>,
    count_lanes: String,
    lacks_any: String,
    lacks_read: String,
}

impl PostgresStore {
    pub(super) fn new(db: DatabaseConnection, names: &TableNames) -> Self {
        Self {
            db,
            lanes: Lanes::new(names),
            read: Read::new(names),
            settle: Settle::new(names),
            stats: Stats::new(names),
            heartbeat: Heartbeat::new(names),
            probes: probes(names, '"'),
            count_lanes: lanes(names, '"'),
            lacks_any: lacking(names, ALL),
            lacks_read: lacking(names, READ),
        }
    }

    async fn rows(&self, text: &str) -> Result<Vec<QueryResult>, StoreError> {
        let statement = Statement::from_string(DbBackend::Postgres, text);
        self.db.query_all_raw(statement).await.map_err(failed("check"))
    }

    async fn value<T: TryGetable>(&self, text: &str) -> Result<T, StoreError> {
        let rows = self.rows(text).await?;
        let row = rows.first().ok_or_else(|| unreadable("check"))?;
        row.try_get_by_index(0).map_err(failed("check"))
    }

    /// Names every grant at once, so that an operator need not find them one by one.
    async fn check_grants(&self, lacking: &str) -> Result<(), StoreError> {
        let rows = self.rows(lacking).await?;
        let grants: Result<Vec<String>, _> =
            rows.iter().map(|row| row.try_get_by_index(0)).collect();
        let grants = grants.map_err(failed("check"))?;
        if grants.is_empty() {
            return Ok(());
        }
        let cause = format!(
            "the database role lacks privileges: GRANT {} to it",
            grants.join(" and GRANT ")
        );
        Err(StoreError::new(StoreErrorKind::PermissionDenied, "check").with_source(Cause(cause)))
    }

    /// A standby takes no writes, nor does a server, database or role that was told so.
    async fn check_writable(&self) -> Result<(), StoreError> {
        let read_only: String =
            self.value("SELECT current_setting('transaction_read_only')").await?;
        if read_only == "off" {
            return Ok(());
        }
        let cause = "this PostgreSQL takes no writes (transaction_read_only is on): use the \
                     primary server, or turn default_transaction_read_only off"
            .to_owned();
        Err(StoreError::new(StoreErrorKind::ReadOnly, "check").with_source(Cause(cause)))
    }
}

#[async_trait]
impl Dialect for PostgresStore {
    async fn check(&self) -> Result<(), StoreError> {
        self.check_grants(&self.lacks_any).await?;
        self.check_tables().await?;
        self.check_writable().await?;
        let isolation: String =
            self.value("SELECT current_setting('default_transaction_isolation')").await?;
        if isolation != "read committed" {
            return Err(refuse("the sessions of the outbox must be READ COMMITTED by default"));
        }
        Ok(())
    }

    async fn check_tables(&self) -> Result<(), StoreError> {
        self.check_grants(&self.lacks_read).await?;
        for probe in &self.probes {
            self.rows(probe).await.map_err(explained)?;
        }
        let lanes: i64 = self.value(&self.count_lanes).await?;
        if lanes != i64::from(Lane::COUNT) {
            return Err(explained(StoreError::new(StoreErrorKind::SchemaMissing, "check")));
        }
        Ok(())
    }
}

#[async_trait]
impl OutboxStore for PostgresStore {
    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LaneLease>, StoreError> {
        self.lanes.lease(&self.db, request).await
    }

    async fn renew(
        &self,
        leases: &[LaneLease],
        lease: LeaseTime,
    ) -> Result<Vec<LaneLease>, StoreError> {
        self.lanes.renew(&self.db, leases, lease).await
    }

    async fn release(&self, leases: &[LaneLease]) -> Result<(), StoreError> {
        self.lanes.release(&self.db, leases).await
    }

    async fn acquired(&self, leases: &[LaneLease]) -> Result<Vec<LaneState>, StoreError> {
        self.lanes.acquired(&self.db, leases).await
    }

    async fn read(&self, request: &ReadRequest) -> Result<Batch, StoreError> {
        self.read.read(&self.db, request).await
    }

    async fn settle(&self, outcomes: &[Outcome]) -> Result<Settled, StoreError> {
        self.settle.settle(&self.db, outcomes).await
    }

    async fn stats(&self) -> Result<OutboxStats, StoreError> {
        self.stats.stats(&self.db).await
    }

    async fn heartbeat(&self, worker: &WorkerCard) -> Result<Fleet, StoreError> {
        self.heartbeat.heartbeat(&self.db, worker).await
    }
}
