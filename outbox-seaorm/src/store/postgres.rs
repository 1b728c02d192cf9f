//! The store on PostgreSQL.

use std::sync::Arc;

use async_trait::async_trait;
use outbox_core::{Clock, StoreError, StoreErrorKind, TableNames};
use sea_orm::DatabaseConnection;

use super::clocked::{Clocked, Statements};
use super::privileges::postgres::lacking;
use super::privileges::{ALL, READ};
use super::probe::{CHECK, Shape, granted, rows, unfit, value};
use super::{Dialect, refuse};
use crate::mapping::failed;
use crate::statement::claim::Claims;
use crate::statement::clock::Now;
use crate::statement::fleet::postgres::Heartbeat;
use crate::statement::lane::postgres::Lanes;
use crate::statement::read::Turns;
use crate::statement::read::postgres::Read;
use crate::statement::settle::postgres::Settle;
use crate::statement::stats::postgres::Stats;

/// The statements of one outbox and the pool that they run on.
#[derive(Debug)]
pub(super) struct PostgresStore {
    pub(super) db: DatabaseConnection,
    pub(super) statements: Clocked<AllStatements>,
    shape: Shape,
    lacks_any: String,
    lacks_read: String,
}

/// All statements of one outbox.
#[derive(Debug)]
pub(super) struct AllStatements {
    pub(super) lanes: Lanes,
    pub(super) read: Read,
    pub(super) settle: Settle,
    pub(super) stats: Stats,
    pub(super) heartbeat: Heartbeat,
    pub(super) claims: Claims,
}

impl Statements for AllStatements {
    fn new(names: &TableNames, clock: Now, turns: Arc<Turns>) -> Self {
        Self {
            lanes: Lanes::new(names, clock),
            read: Read::new(names, clock, turns),
            settle: Settle::new(names, clock),
            stats: Stats::new(names, clock),
            heartbeat: Heartbeat::new(names, clock),
            claims: Claims::on_postgres(names, clock),
        }
    }
}

impl PostgresStore {
    pub(super) fn new(
        db: DatabaseConnection,
        names: &TableNames,
        clock: Option<Arc<dyn Clock>>,
    ) -> Self {
        Self {
            db,
            statements: Clocked::new(names, clock),
            shape: Shape::new(names, '"'),
            lacks_any: lacking(names, ALL),
            lacks_read: lacking(names, READ),
        }
    }

    async fn check_grants(&self, lacking: &str) -> Result<(), StoreError> {
        let rows = rows(&self.db, lacking).await?;
        let grants: Result<Vec<String>, _> =
            rows.iter().map(|row| row.try_get_by_index(0)).collect();
        granted(&grants.map_err(failed(CHECK))?)
    }

    /// A standby takes no writes, nor does a server, database or role that was told so.
    async fn check_writable(&self) -> Result<(), StoreError> {
        let read_only: String =
            value(&self.db, "SELECT current_setting('transaction_read_only')").await?;
        if read_only == "off" {
            return Ok(());
        }
        let why = "this PostgreSQL takes no writes (transaction_read_only is on): use the primary \
                   server, or turn default_transaction_read_only off";
        Err(unfit(StoreErrorKind::ReadOnly, why))
    }
}

#[async_trait]
impl Dialect for PostgresStore {
    async fn check(&self) -> Result<(), StoreError> {
        self.check_grants(&self.lacks_any).await?;
        self.shape.check(&self.db).await?;
        self.check_writable().await?;
        let isolation: String =
            value(&self.db, "SELECT current_setting('default_transaction_isolation')").await?;
        if isolation != "read committed" {
            return Err(refuse("the sessions of the outbox must be READ COMMITTED by default"));
        }
        Ok(())
    }

    async fn check_tables(&self) -> Result<(), StoreError> {
        self.check_grants(&self.lacks_read).await?;
        self.shape.check(&self.db).await
    }
}
