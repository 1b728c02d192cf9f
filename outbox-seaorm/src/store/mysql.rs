//! The store on MariaDB and MySQL.

use std::sync::Arc;

use async_trait::async_trait;
use outbox_core::{Clock, StoreError, StoreErrorKind, TableNames};
use sea_orm::{ConnectionTrait, DatabaseConnection};

use super::clocked::{Clocked, Statements};
use super::privileges::mysql::{Trial, trials};
use super::privileges::{ALL, READ};
use super::probe::{CHECK, Shape, granted, rows, unfit};
use super::{Dialect, refuse};
use crate::mapping::failed;
use crate::statement::claim::Claims;
use crate::statement::clock::Now;
use crate::statement::fleet::mysql::Heartbeat;
use crate::statement::lane::mysql::Lanes;
use crate::statement::read::Turns;
use crate::statement::read::mysql::Read;
use crate::statement::settle::mysql::Settle;
use crate::statement::stats::mysql::Stats;

/// The statements of one outbox and the pool that they run on.
#[derive(Debug)]
pub(super) struct MySqlStore {
    pub(super) db: DatabaseConnection,
    pub(super) statements: Clocked<AllStatements>,
    shape: Shape,
    trials: Vec<Trial>,
    read_trials: Vec<Trial>,
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
            claims: Claims::on_mysql(names, clock),
        }
    }
}

impl MySqlStore {
    pub(super) fn new(
        db: DatabaseConnection,
        names: &TableNames,
        clock: Option<Arc<dyn Clock>>,
    ) -> Self {
        Self {
            db,
            statements: Clocked::new(names, clock),
            shape: Shape::new(names, '`'),
            trials: trials(names, ALL),
            read_trials: trials(names, READ),
        }
    }

    /// Tries each privilege, in the order of the tables.
    async fn check_grants(&self, trials: &[Trial]) -> Result<(), StoreError> {
        let mut lacking: Vec<(&str, Vec<&str>)> = Vec::new();
        for Trial { privilege, table, statement } in trials {
            let tried = self.db.execute_unprepared(statement).await.map_err(failed(CHECK));
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
        let grant = |(table, privileges): &(&str, Vec<&str>)| {
            format!("{} ON {table}", privileges.join(", "))
        };
        granted(&lacking.iter().map(grant).collect::<Vec<_>>())
    }

    /// Asked of the session, in the words of whichever server it is.
    async fn check_session(&self) -> Result<(), StoreError> {
        let settings = "SHOW SESSION VARIABLES
            WHERE Variable_name IN ('sql_mode', 'transaction_isolation', 'tx_isolation')";
        for row in rows(&self.db, settings).await? {
            let text = |at: usize| row.try_get_by_index::<String>(at).map_err(failed(CHECK));
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
    let why = "this MariaDB or MySQL takes no writes (read_only is on): use the primary server";
    unfit(StoreErrorKind::ReadOnly, why)
}

#[async_trait]
impl Dialect for MySqlStore {
    async fn check(&self) -> Result<(), StoreError> {
        self.check_grants(&self.trials).await?;
        self.shape.check(&self.db).await?;
        self.check_session().await
    }

    async fn check_tables(&self) -> Result<(), StoreError> {
        self.check_grants(&self.read_trials).await?;
        self.shape.check(&self.db).await
    }
}
