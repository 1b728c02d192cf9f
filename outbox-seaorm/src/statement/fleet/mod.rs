//! Workers that tell each other that they live.

#[cfg(feature = "mysql")]
pub(crate) mod mysql;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;

use std::time::Duration;

use outbox_core::{Fleet, StoreError, WorkerCard};
use sea_orm::{DbErr, QueryResult};

use crate::mapping::failed;

/// After how long without a sign of life a worker is forgotten.
const FORGOTTEN: Duration = Duration::from_hours(24);

/// The fleet out of a row that counts the *other* live workers that share, and what they lack.
fn fleet(worker: &WorkerCard, row: &QueryResult) -> Result<Fleet, StoreError> {
    let read = || {
        let others: i64 = row.try_get_by_index(0)?;
        let wanted: i64 = row.try_get_by_index(1)?;
        let sharing = others + i64::from(worker.wants_lanes.is_some());
        let number = |count: i64| u32::try_from(count.max(0)).unwrap_or(u32::MAX);
        Ok(Fleet { sharing: number(sharing), wanted: number(wanted), stamp: None })
    };
    read().map_err(|error: DbErr| failed("heartbeat")(error))
}

fn topics(worker: &WorkerCard) -> String {
    serde_json::Value::from(worker.topics.clone()).to_string()
}
