//! Counting what waits on MariaDB and MySQL.

use outbox_core::{Lane, OutboxStats, StoreError, TableNames};
use sea_orm::{ConnectionTrait, DatabaseConnection};

use super::BOUND;
use crate::mapping::{failed, unreadable};
use crate::statement::clock::Now;
use crate::store::brief::statement;

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
        // Bound to nothing: sent as bare text, the numbers would come back as text.
        let row = db.query_one_raw(statement(&self.text, [])).await.map_err(failed("stats"))?;
        super::stats(&row.ok_or_else(|| unreadable("stats"))?)
    }
}

/// The first record of each lane stands in for those that a bounded look does not reach: within a
/// lane, positions grow nearly with age.
fn stats(names: &TableNames, clock: Now) -> String {
    let now = clock.mysql();
    let [message, lane, parked, dead] =
        ["message", "lane", "parked", "dead_letter"].map(|table| names.quoted(table, '`'));
    // Named, because statistics that were made while the table was empty let any index look as good:
    // the key would then pass all that is scheduled on its way to what is not.
    let waiting = names.identifier("message_due").replace('`', "``");
    let lanes = every_lane();
    let count = |condition: &str| format!("CAST(COALESCE(SUM({condition}), 0) AS SIGNED)");
    let states =
        ["available_at IS NULL", "due", "NOT due AND attempts = 0", "NOT due AND attempts > 0"];
    let [fresh, due, scheduled, retrying] = states.map(count);
    format!(
        "SELECT f.ready, f.looked, w.ready, w.scheduled, w.retrying, w.looked,
    (SELECT COUNT(*) FROM (SELECT 1 FROM {parked} LIMIT {BOUND}) AS p),
    (SELECT COUNT(*) FROM (SELECT 1 FROM {dead} LIMIT {BOUND}) AS d),
    TIMESTAMPDIFF(MICROSECOND, LEAST(
        COALESCE(f.oldest, w.oldest, h.oldest), COALESCE(w.oldest, f.oldest, h.oldest),
        COALESCE(h.oldest, f.oldest, w.oldest)), {now})
FROM (
    SELECT {fresh} AS ready, COUNT(*) AS looked,
        MIN(IF(available_at IS NULL, created_at, NULL)) AS oldest
    FROM (SELECT available_at, created_at FROM {message} LIMIT {BOUND}) AS m
) AS f JOIN (
    SELECT {due} AS ready, {scheduled} AS scheduled, {retrying} AS retrying, COUNT(*) AS looked,
        MIN(IF(due, GREATEST(created_at, available_at), NULL)) AS oldest
    FROM (
        SELECT available_at <= {now} AS due, available_at, created_at, attempts
        FROM {message} FORCE INDEX (`{waiting}`) WHERE lane IN ({lanes}) AND available_at IS NOT NULL LIMIT {BOUND}
    ) AS m
) AS w JOIN (
    SELECT MIN(head) AS oldest FROM (
        SELECT (
            SELECT m.created_at FROM {message} AS m FORCE INDEX (`{waiting}`)
            WHERE m.lane = l.lane AND m.available_at IS NULL ORDER BY m.position LIMIT 1
        ) AS head FROM {lane} AS l
    ) AS heads
) AS h"
    )
}

/// Named one by one, so that a count goes along the index of what waits.
fn every_lane() -> String {
    Lane::all().map(|lane| lane.to_string()).collect::<Vec<_>>().join(", ")
}
