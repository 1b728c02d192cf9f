//! Claiming single records on MariaDB and MySQL.
//!
//! The forced key and `STRAIGHT_JOIN` keep each statement from locking another row than the one that
//! it is about.

use outbox_core::{LaneLease, TableNames};
use sea_orm::Value;

use super::Claims;
use crate::statement::clock::Now;
use crate::statement::json::json_lanes;

impl Claims {
    pub(crate) fn on_mysql(names: &TableNames, clock: Now) -> Self {
        Self {
            lane: lane(names, clock),
            record: record(names, clock),
            parked: parked(names),
            holder: holder(names, clock),
            take: take(names, clock),
            renew: renew(names, clock),
            claimed: claimed(names),
            end: end(names, clock),
            complete: complete(names),
            fail: fail(names, clock),
            known: known(names, clock),
            clear: clear(names, clock),
            lanes,
        }
    }
}

/// The lock keeps out whoever would lease the lane, renew its lease or settle in it: a settlement that
/// passed the lane's end beside this claim would not see the claim.
fn lane(names: &TableNames, clock: Now) -> String {
    let now = clock.mysql();
    let lane = names.quoted("lane", '`');
    format!(
        "SELECT CASE WHEN l.token IS NOT NULL AND l.expires_at > {now} THEN l.owner END
FROM {lane} AS l FORCE INDEX (PRIMARY) WHERE l.lane = ? FOR UPDATE"
    )
}

fn record(names: &TableNames, clock: Now) -> String {
    let now = clock.mysql();
    let message = names.quoted("message", '`');
    format!(
        "SELECT m.revision, m.available_at IS NULL OR m.available_at <= {now}
FROM {message} AS m FORCE INDEX (PRIMARY)
WHERE m.lane = ? AND m.position = ? AND m.id = ? FOR UPDATE"
    )
}

fn parked(names: &TableNames) -> String {
    let [message, parked, parked_key] =
        ["message", "parked", "parked_key"].map(|table| names.quoted(table, '`'));
    format!(
        "SELECT 1 FROM {message} AS m FORCE INDEX (PRIMARY)
STRAIGHT_JOIN {parked_key} AS k ON k.topic = m.topic AND k.ordering_key = m.ordering_key
WHERE m.lane = ? AND m.position = ? AND m.id = ?
UNION ALL
SELECT 1 FROM {parked} AS p WHERE p.lane = ? AND p.position = ? AND p.id = ?"
    )
}

fn holder(names: &TableNames, clock: Now) -> String {
    let now = clock.mysql();
    let claim = names.quoted("claim", '`');
    format!(
        "SELECT CASE WHEN c.expires_at > {now} THEN c.owner END
FROM {claim} AS c FORCE INDEX (PRIMARY) WHERE c.lane = ? AND c.position = ? FOR UPDATE"
    )
}

fn take(names: &TableNames, clock: Now) -> String {
    let now = clock.mysql();
    let claim = names.quoted("claim", '`');
    format!(
        "REPLACE INTO {claim} (lane, position, message_id, token, owner, expires_at)
VALUES (?, ?, ?, ?, ?, {now} + INTERVAL ? MICROSECOND)"
    )
}

fn renew(names: &TableNames, clock: Now) -> String {
    let now = clock.mysql();
    let claim = names.quoted("claim", '`');
    format!(
        "UPDATE {claim} AS c FORCE INDEX (PRIMARY)
SET c.expires_at = GREATEST(c.expires_at, {now} + INTERVAL ? MICROSECOND)
WHERE c.lane = ? AND c.position = ? AND c.message_id = ? AND c.token = ?
    AND c.expires_at > {now}"
    )
}

fn claimed(names: &TableNames) -> String {
    let message = names.quoted("message", '`');
    format!(
        "SELECT 1 FROM {message} AS m FORCE INDEX (PRIMARY)
WHERE m.lane = ? AND m.position = ? AND m.id = ? AND m.revision = ? FOR UPDATE"
    )
}

/// The fence of whatever a claim settles.
fn end(names: &TableNames, clock: Now) -> String {
    let now = clock.mysql();
    let claim = names.quoted("claim", '`');
    format!(
        "DELETE FROM {claim} WHERE lane = ? AND position = ? AND message_id = ? AND token = ?
    AND expires_at > {now}"
    )
}

fn complete(names: &TableNames) -> String {
    let message = names.quoted("message", '`');
    format!("DELETE FROM {message} WHERE lane = ? AND position = ?")
}

fn fail(names: &TableNames, clock: Now) -> String {
    let now = clock.mysql();
    let message = names.quoted("message", '`');
    format!(
        "UPDATE {message} AS m FORCE INDEX (PRIMARY)
SET m.attempts = m.attempts + 1, m.revision = m.revision + 1,
    m.available_at = {now} + INTERVAL ? MICROSECOND,
    m.first_failed_at = COALESCE(m.first_failed_at, {now}), m.last_error = ?
WHERE m.lane = ? AND m.position = ?"
    )
}

const LANES: &str = "JSON_TABLE(?, '$[*]' COLUMNS (lane SMALLINT PATH '$')) AS k";

fn known(names: &TableNames, clock: Now) -> String {
    let now = clock.mysql();
    let [claim, message] = ["claim", "message"].map(|table| names.quoted(table, '`'));
    format!(
        "SELECT c.lane, c.position, TIMESTAMPDIFF(MICROSECOND, {now}, c.expires_at),
    m.topic, m.ordering_key
FROM {LANES} STRAIGHT_JOIN {claim} AS c FORCE INDEX (PRIMARY) ON c.lane = k.lane
LEFT JOIN {message} AS m FORCE INDEX (PRIMARY) ON m.lane = c.lane AND m.position = c.position
ORDER BY c.lane, c.position"
    )
}

fn clear(names: &TableNames, clock: Now) -> String {
    let now = clock.mysql();
    let claim = names.quoted("claim", '`');
    format!(
        "DELETE c FROM {LANES} STRAIGHT_JOIN {claim} AS c FORCE INDEX (PRIMARY) ON c.lane = k.lane
WHERE c.expires_at <= {now}"
    )
}

fn lanes(leases: &[LaneLease]) -> Value {
    json_lanes(leases).into()
}
