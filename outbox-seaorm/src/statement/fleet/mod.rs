//! Workers that tell each other that they live.

#[cfg(feature = "mysql")]
pub(crate) mod mysql;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;

use std::collections::BTreeSet;
use std::time::Duration;

use outbox_core::{Fleet, StoreError, TableNames, WorkerCard};
use sea_orm::{DbErr, QueryResult};

use crate::mapping::{failed, unreadable};

/// After how long without a sign of life a worker is forgotten.
const FORGOTTEN: Duration = Duration::from_hours(24);

/// Which lanes can be leased, at this instant.
fn free(names: &TableNames, quote: char, now: &str) -> String {
    let lane = names.quoted("lane", quote);
    format!(
        "(SELECT count(*) FROM {lane} AS l
WHERE l.token IS NULL OR l.expires_at IS NULL OR l.expires_at <= {now})"
    )
}

/// The fleet out of a row that counts the *other* live workers that share, what they lack, and the
/// lanes that are free.
fn fleet(worker: &WorkerCard, row: &QueryResult) -> Result<Fleet, StoreError> {
    let read = || {
        let others: i64 = row.try_get_by_index(0)?;
        let wanted: i64 = row.try_get_by_index(1)?;
        let free: i64 = row.try_get_by_index(2)?;
        let sharing = others + i64::from(worker.wants_lanes.is_some());
        let number = |count: i64| u32::try_from(count.max(0)).unwrap_or(u32::MAX);
        let free = u8::try_from(free).unwrap_or(u8::MAX);
        let (sharing, wanted) = (number(sharing), number(wanted));
        Ok(Fleet { sharing, wanted, free, ..Fleet::default() })
    };
    read().map_err(|error: DbErr| failed("heartbeat")(error))
}

fn topics(worker: &WorkerCard) -> String {
    serde_json::Value::from(worker.topics.clone()).to_string()
}

/// Which of the topics that this worker lacks are among those of the other live workers that share,
/// one row of topics each. Rarely any worker lacks one, so these rows are asked for apart.
fn routed(worker: &WorkerCard, rows: &[QueryResult]) -> Result<Vec<String>, StoreError> {
    let mut routed = BTreeSet::new();
    for row in rows {
        let text: String = row.try_get_by_index(0).map_err(failed("heartbeat"))?;
        let topics = serde_json::from_str(&text).map_err(|_| unreadable("heartbeat"))?;
        let other = WorkerCard { topics, ..worker.clone() };
        routed.extend(worker.lacks.iter().filter(|topic| other.routes(topic)).cloned());
    }
    Ok(routed.into_iter().collect())
}
