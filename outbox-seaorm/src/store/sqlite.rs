//! The store on SQLite.

use async_trait::async_trait;
use outbox_core::{
    Batch, Fleet, Lane, LaneLease, LaneState, LeaseRequest, LeaseTime, OutboxStats, OutboxStore,
    Outcome, ReadRequest, Settled, StoreError, StoreErrorKind, TableNames, WorkerCard,
};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, QueryResult, Statement};

use super::Dialect;
use super::probe::{explained, lanes, probes, write};
use crate::mapping::{Cause, failed, unreadable};
use crate::statement::fleet::sqlite::Heartbeat;
use crate::statement::lane::sqlite::Lanes;
use crate::statement::read::sqlite::Read;
use crate::statement::settle::sqlite::Settle;
use crate::statement::stats::sqlite::Stats;

/// The statements of one outbox and the pool that they run on.
#[derive(Debug)]
pub(super) struct SqliteStore {
    db: DatabaseConnection,
    lanes: Lanes,
    read: Read,
    settle: Settle,
    stats: Stats,
    heartbeat: Heartbeat,
    probes: Vec<String>,
    count_lanes: String,
    write: String,
}

impl SqliteStore {
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
            write: write(names),
        }
    }

    async fn one(&self, text: &str) -> Result<QueryResult, StoreError> {
        let statement = Statement::from_string(DbBackend::Sqlite, text);
        let row = self.db.query_one_raw(statement).await.map_err(failed("check"))?;
        row.ok_or_else(|| unreadable("check"))
    }

    async fn check_writable(&self) -> Result<(), StoreError> {
        let written = self.db.execute_unprepared(&self.write).await.map_err(failed("check"));
        match written {
            Err(error) if error.kind() == StoreErrorKind::ReadOnly => {
                let cause = "this SQLite database takes no writes: the file and its folder must \
                             be writable, and the URL without `mode=ro`"
                    .to_owned();
                Err(StoreError::new(StoreErrorKind::ReadOnly, "check").with_source(Cause(cause)))
            }
            // Whoever is in the way is writing there.
            Err(error) if error.kind() != StoreErrorKind::Conflict => Err(error),
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

#[async_trait]
impl Dialect for SqliteStore {
    async fn check(&self) -> Result<(), StoreError> {
        self.check_tables().await?;
        self.check_writable().await
    }

    async fn check_tables(&self) -> Result<(), StoreError> {
        for probe in &self.probes {
            let statement = Statement::from_string(DbBackend::Sqlite, probe);
            let found = self.db.query_all_raw(statement).await;
            found.map_err(|error| explained(failed("check")(error)))?;
        }
        let lanes: i64 =
            self.one(&self.count_lanes).await?.try_get_by_index(0).map_err(failed("check"))?;
        if lanes != i64::from(Lane::COUNT) {
            return Err(explained(StoreError::new(StoreErrorKind::SchemaMissing, "check")));
        }
        Ok(())
    }
}

#[async_trait]
impl OutboxStore for SqliteStore {
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
