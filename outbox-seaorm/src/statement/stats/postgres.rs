//! Counting what waits on PostgreSQL.

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
        let statement = Statement::from_string(DbBackend::Postgres, &self.text);
        let row = db.query_one_raw(statement).await.map_err(failed("stats"))?;
        super::stats(&row.ok_or_else(|| unreadable("stats"))?)
    }
}

/// The first record of each lane stands in for those that a bounded look does not reach: within a
/// lane, positions grow nearly with age. What has no instant on the calendar has no age.
fn stats(names: &TableNames, clock: Now) -> String {
    let still = clock.postgres_still();
    let [message, parked, dead] =
        ["message", "parked", "dead_letter"].map(|table| names.quoted(table, '"'));
    format!(
        "WITH fresh AS MATERIALIZED (
    SELECT count(*) FILTER (WHERE available_at IS NULL) AS ready, count(*) AS looked,
        min(created_at) FILTER (WHERE available_at IS NULL AND isfinite(created_at)) AS oldest
    FROM (SELECT available_at, created_at FROM {message} LIMIT {BOUND}) m
), waited AS MATERIALIZED (
    SELECT count(*) FILTER (WHERE due) AS ready,
        count(*) FILTER (WHERE NOT due AND attempts = 0) AS scheduled,
        count(*) FILTER (WHERE NOT due AND attempts > 0) AS retrying, count(*) AS looked,
        min(greatest(created_at, available_at)) FILTER (WHERE due AND isfinite(created_at)) AS oldest
    FROM (
        SELECT m.available_at <= {still} AS due, m.*
        FROM generate_series(0, 63) AS l (lane) CROSS JOIN LATERAL (
            -- Lane by lane and fenced in, and so along the index of what waits: joined freely, a plan
            -- made before anything is known of the table looks through all of it.
            SELECT available_at, created_at, attempts FROM {message}
            WHERE lane = l.lane AND available_at IS NOT NULL OFFSET 0
        ) m LIMIT {BOUND}
    ) m
), heads AS MATERIALIZED (
    SELECT min(h.created_at) FILTER (WHERE isfinite(h.created_at)) AS oldest
    FROM generate_series(0, 63) AS l (lane)
    CROSS JOIN LATERAL (
        SELECT m.created_at FROM {message} m
        WHERE m.lane = l.lane AND m.available_at IS NULL ORDER BY m.position LIMIT 1
    ) h
    WHERE (SELECT looked = {BOUND} FROM fresh)
)
SELECT f.ready, f.looked, w.ready, w.scheduled, w.retrying, w.looked,
    (SELECT count(*) FROM (SELECT 1 FROM {parked} LIMIT {BOUND}) p),
    (SELECT count(*) FROM (SELECT 1 FROM {dead} LIMIT {BOUND}) d),
    (extract(epoch FROM
        {still} - least(f.oldest, w.oldest, h.oldest)) * 1000000)::bigint
FROM fresh f, waited w, heads h"
    )
}
