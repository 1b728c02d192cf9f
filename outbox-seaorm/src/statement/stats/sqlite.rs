//! Counting what waits on SQLite.

use outbox_core::{OutboxStats, StoreError, TableNames};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, Statement};

use super::BOUND;
use crate::mapping::{failed, unreadable};
use crate::statement::clock::Now;

/// The statement that counts in one outbox.
#[derive(Debug)]
pub(crate) struct Stats {
    text: String,
}

impl Stats {
    pub(crate) fn new(names: &TableNames, clock: Now) -> Self {
        Self { text: stats(names, clock) }
    }

    pub(crate) async fn stats(&self, db: &DatabaseConnection) -> Result<OutboxStats, StoreError> {
        let statement = Statement::from_string(DbBackend::Sqlite, &self.text);
        let row = db.query_one_raw(statement).await.map_err(failed("stats"))?;
        super::stats(&row.ok_or_else(|| unreadable("stats"))?)
    }
}

/// The rows that are looked at are the oldest ones, so that a bounded look finds the oldest age. What
/// has no instant on the calendar has no age.
fn stats(names: &TableNames, clock: Now) -> String {
    let now = clock.sqlite();
    let [message, parked, dead] =
        ["message", "parked", "dead_letter"].map(|table| names.quoted(table, '"'));
    format!(
        "WITH clock AS MATERIALIZED (SELECT {now} AS now), fresh AS MATERIALIZED (
    SELECT count(*) FILTER (WHERE available_at IS NULL) AS ready, count(*) AS looked,
        min(created_at) FILTER (WHERE available_at IS NULL AND typeof(created_at) = 'integer')
            AS oldest
    FROM (SELECT available_at, created_at FROM {message} ORDER BY position LIMIT {BOUND})
), waited AS MATERIALIZED (
    SELECT count(*) FILTER (WHERE due) AS ready,
        count(*) FILTER (WHERE NOT due AND attempts = 0) AS scheduled,
        count(*) FILTER (WHERE NOT due AND attempts > 0) AS retrying, count(*) AS looked,
        min(max(created_at, available_at)) FILTER (WHERE due AND typeof(created_at) = 'integer'
            AND typeof(available_at) = 'integer') AS oldest
    FROM (
        SELECT available_at <= (SELECT now FROM clock) AS due, available_at, created_at, attempts
        FROM {message} WHERE available_at IS NOT NULL LIMIT {BOUND}
    )
)
SELECT f.ready, f.looked, w.ready, w.scheduled, w.retrying, w.looked,
    (SELECT count(*) FROM (SELECT 1 FROM {parked} LIMIT {BOUND})),
    (SELECT count(*) FROM (SELECT 1 FROM {dead} LIMIT {BOUND})),
    (SELECT now FROM clock)
        - min(coalesce(f.oldest, w.oldest), coalesce(w.oldest, f.oldest))
FROM fresh AS f, waited AS w"
    )
}
