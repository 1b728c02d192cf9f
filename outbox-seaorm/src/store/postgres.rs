//! The store on PostgreSQL.

use async_trait::async_trait;
use outbox_core::{
    Batch, Fleet, Lane, LaneLease, LaneState, LeaseRequest, LeaseTime, OutboxStats, OutboxStore,
    Outcome, ReadRequest, Settled, StoreError, StoreErrorKind, TableNames, WorkerCard,
};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, QueryResult, Statement};

use super::probe::{explained, lanes, probes};
use super::{Dialect, refuse};
use crate::mapping::{failed, unreadable};
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
            probes: probes(names),
            count_lanes: lanes(names),
        }
    }

    async fn one(&self, text: &str) -> Result<QueryResult, StoreError> {
        let statement = Statement::from_string(DbBackend::Postgres, text);
        let row = self.db.query_one_raw(statement).await.map_err(failed("check"))?;
        row.ok_or_else(|| unreadable("check"))
    }
}

#[async_trait]
impl Dialect for PostgresStore {
    async fn check(&self) -> Result<(), StoreError> {
        for probe in &self.probes {
            let statement = Statement::from_string(DbBackend::Postgres, probe);
            let found = self.db.query_all_raw(statement).await;
            found.map_err(|error| explained(failed("check")(error)))?;
        }
        let lanes: i64 =
            self.one(&self.count_lanes).await?.try_get_by_index(0).map_err(failed("check"))?;
        if lanes != i64::from(Lane::COUNT) {
            return Err(explained(StoreError::new(StoreErrorKind::SchemaMissing, "check")));
        }
        let isolation: String = self
            .one("SELECT current_setting('default_transaction_isolation')")
            .await?
            .try_get_by_index(0)
            .map_err(failed("check"))?;
        if isolation != "read committed" {
            return Err(refuse("the sessions of the outbox must be READ COMMITTED by default"));
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
