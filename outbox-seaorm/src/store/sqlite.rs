//! The store on SQLite.

use std::sync::Arc;

use async_trait::async_trait;
use outbox_core::{Clock, StoreError, StoreErrorKind, TableNames};
use sea_orm::{ConnectionTrait, DatabaseConnection};

use super::Dialect;
use super::clocked::{Clocked, Statements};
use super::probe::{CHECK, Shape, unfit, write};
use crate::mapping::failed;
use crate::statement::claim::Claims;
use crate::statement::clock::Now;
use crate::statement::fleet::sqlite::Heartbeat;
use crate::statement::lane::sqlite::Lanes;
use crate::statement::read::Turns;
use crate::statement::read::sqlite::Read;
use crate::statement::settle::sqlite::Settle;
use crate::statement::stats::sqlite::Stats;

/// The statements of one outbox and the pool that they run on.
#[derive(Debug)]
pub(super) struct SqliteStore {
    pub(super) db: DatabaseConnection,
    pub(super) statements: Clocked<AllStatements>,
    shape: Shape,
    write: String,
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
            claims: Claims::on_sqlite(names, clock),
        }
    }
}

impl SqliteStore {
    pub(super) fn new(
        db: DatabaseConnection,
        names: &TableNames,
        clock: Option<Arc<dyn Clock>>,
    ) -> Self {
        Self {
            db,
            statements: Clocked::new(names, clock),
            shape: Shape::new(names, '"'),
            write: write(names),
        }
    }

    async fn check_writable(&self) -> Result<(), StoreError> {
        let written = self.db.execute_unprepared(&self.write).await.map_err(failed(CHECK));
        match written {
            Err(error) if error.kind() == StoreErrorKind::ReadOnly => {
                let why = "this SQLite database takes no writes: the file and its folder must be \
                           writable, and the URL without `mode=ro`";
                Err(unfit(StoreErrorKind::ReadOnly, why))
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
        self.shape.check(&self.db).await
    }
}
