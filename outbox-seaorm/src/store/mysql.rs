//! The store on MariaDB and MySQL.

use async_trait::async_trait;
use outbox_core::{
    Batch, Fleet, Lane, LaneLease, LaneState, LeaseRequest, LeaseTime, OutboxStats, OutboxStore,
    Outcome, ReadRequest, Settled, StoreError, StoreErrorKind, TableNames, WorkerCard,
};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, QueryResult, Statement};

use super::privileges::mysql::{Trial, trials};
use super::privileges::{ALL, READ};
use super::probe::{explained, lanes, probes};
use super::{Dialect, refuse};
use crate::mapping::{Cause, failed, unreadable};
use crate::statement::fleet::mysql::Heartbeat;
use crate::statement::lane::mysql::Lanes;
use crate::statement::read::mysql::Read;
use crate::statement::settle::mysql::Settle;
use crate::statement::stats::mysql::Stats;

/// The statements of one outbox and the pool that they run on.
#[derive(Debug)]
pub(super) struct MySqlStore {
    db: DatabaseConnection,
    lanes: Lanes,
    read: Read,
    settle: Settle,
    stats: Stats,
    heartbeat: Heartbeat,
    probes: Vec<String>,
    count_lanes: String,
    trials: Vec<Trial>,
    read_trials: Vec<Trial>,
}

impl MySqlStore {
    pub(super) fn new(db: DatabaseConnection, names: &TableNames) -> Self {
        Self {
            db,
            lanes: Lanes::new(names),
            read: Read::new(names),
            settle: Settle::new(names),
            stats: Stats::new(names),
            heartbeat: Heartbeat::new(names),
            probes: probes(names, '`'),
            count_lanes: lanes(names, '`'),
            trials: trials(names, ALL),
            read_trials: trials(names, READ),
        }
    }

    async fn rows(&self, text: &str) -> Result<Vec<QueryResult>, StoreError> {
        let statement = Statement::from_string(DbBackend::MySql, text);
        self.db.query_all_raw(statement).await.map_err(failed("check"))
    }

    /// Names every grant at once, so that an operator need not find them one by one.
    async fn check_grants(&self, trials: &[Trial]) -> Result<(), StoreError> {
        let mut lacking: Vec<(&str, Vec<&str>)> = Vec::new();
        for Trial { privilege, table, statement } in trials {
            let tried = self.db.execute_unprepared(statement).await.map_err(failed("check"));
            match tried {
                Err(error) if error.kind() == StoreErrorKind::PermissionDenied => {
                    match lacking.last_mut() {
                        Some((of, privileges)) if of == table => privileges.push(privilege),
                        _ => lacking.push((table, vec![privilege])),
                    }
                }
                Err(error) if error.kind() == StoreErrorKind::ReadOnly => {
                    return Err(read_only());
                }
                // What else is wrong with a table is told by other checks, and better.
                Err(error) if error.kind() != StoreErrorKind::SchemaMissing => return Err(error),
                Ok(_) | Err(_) => {}
            }
        }
        if lacking.is_empty() {
            return Ok(());
        }
        let grant = |(table, privileges): &(&str, Vec<&str>)| {
            format!("GRANT {} ON {table}", privileges.join(", "))
        };
        let grants: Vec<String> = lacking.iter().map(grant).collect();
        let cause = format!("the database role lacks privileges: {} to it", grants.join(" and "));
        Err(StoreError::new(StoreErrorKind::PermissionDenied, "check").with_source(Cause(cause)))
    }

    /// Asked of the session, in the words of whichever server it is.
    async fn check_session(&self) -> Result<(), StoreError> {
        let settings = "SHOW SESSION VARIABLES
            WHERE Variable_name IN ('sql_mode', 'transaction_isolation', 'tx_isolation')";
        for row in self.rows(settings).await? {
            let text = |at: usize| row.try_get_by_index::<String>(at).map_err(failed("check"));
            let (name, value) = (text(0)?, text(1)?);
            let is_strict = value.contains("STRICT_ALL") || value.contains("STRICT_TRANS");
            match name.as_str() {
                "sql_mode" if !is_strict => {
                    return Err(refuse("the sessions of the outbox need a strict sql_mode"));
                }
                "transaction_isolation" | "tx_isolation" if value != "READ-COMMITTED" => {
                    return Err(refuse(
                        "the sessions of the outbox must be READ COMMITTED by default",
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn read_only() -> StoreError {
    let cause = "this MariaDB or MySQL takes no writes (read_only is on): use the primary server"
        .to_owned();
    StoreError::new(StoreErrorKind::ReadOnly, "check").with_source(Cause(cause))
}

#[async_trait]
impl Dialect for MySqlStore {
    async fn check(&self) -> Result<(), StoreError> {
        self.check_grants(&self.trials).await?;
        self.check_tables().await?;
        self.check_session().await
    }

    async fn check_tables(&self) -> Result<(), StoreError> {
        self.check_grants(&self.read_trials).await?;
        for probe in &self.probes {
            self.rows(probe).await.map_err(explained)?;
        }
        let rows = self.rows(&self.count_lanes).await?;
        let row = rows.first().ok_or_else(|| unreadable("check"))?;
        let lanes: i64 = row.try_get_by_index(0).map_err(failed("check"))?;
        if lanes != i64::from(Lane::COUNT) {
            return Err(explained(StoreError::new(StoreErrorKind::SchemaMissing, "check")));
        }
        Ok(())
    }
}

#[async_trait]
impl OutboxStore for MySqlStore {
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
