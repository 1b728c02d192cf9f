//! Claiming single records on SQLite, where whoever writes is alone and locks nothing.

use outbox_core::{LaneLease, TableNames};
use sea_orm::Value;

use super::Claims;
use crate::statement::clock::Now;
use crate::statement::json::json_lanes;

impl Claims {
    pub(crate) fn on_sqlite(names: &TableNames, clock: Now) -> Self {
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

fn lane(names: &TableNames, clock: Now) -> String {
    let now = clock.sqlite();
    let lane = names.quoted("lane", '"');
    format!(
        "SELECT CASE WHEN token IS NOT NULL AND expires_at > {now} THEN owner END
FROM {lane} WHERE lane = ?"
    )
}

fn record(names: &TableNames, clock: Now) -> String {
    let now = clock.sqlite();
    let message = names.quoted("message", '"');
    format!(
        "SELECT revision, available_at IS NULL OR available_at <= {now}
FROM {message} WHERE lane = ? AND position = ? AND id = ?"
    )
}

fn parked(names: &TableNames) -> String {
    let [message, parked, parked_key] =
        ["message", "parked", "parked_key"].map(|table| names.quoted(table, '"'));
    format!(
        "SELECT 1 FROM {message} AS m
JOIN {parked_key} AS k ON k.topic = m.topic AND k.ordering_key = m.ordering_key
WHERE m.lane = ? AND m.position = ? AND m.id = ?
UNION ALL
SELECT 1 FROM {parked} WHERE lane = ? AND position = ? AND id = ?"
    )
}

fn holder(names: &TableNames, clock: Now) -> String {
    let now = clock.sqlite();
    let claim = names.quoted("claim", '"');
    format!(
        "SELECT CASE WHEN expires_at > {now} THEN owner END
FROM {claim} WHERE lane = ? AND position = ?"
    )
}

fn take(names: &TableNames, clock: Now) -> String {
    let now = clock.sqlite();
    let claim = names.quoted("claim", '"');
    format!(
        "REPLACE INTO {claim} (lane, position, message_id, token, owner, expires_at)
VALUES (?, ?, ?, ?, ?, {now} + ?)"
    )
}

fn renew(names: &TableNames, clock: Now) -> String {
    let now = clock.sqlite();
    let claim = names.quoted("claim", '"');
    format!(
        "UPDATE {claim} SET expires_at = max(expires_at, {now} + ?)
WHERE lane = ? AND position = ? AND message_id = ? AND token = ? AND expires_at > {now}"
    )
}

fn claimed(names: &TableNames) -> String {
    let message = names.quoted("message", '"');
    format!("SELECT 1 FROM {message} WHERE lane = ? AND position = ? AND id = ? AND revision = ?")
}

/// The fence of whatever a claim settles.
fn end(names: &TableNames, clock: Now) -> String {
    let now = clock.sqlite();
    let claim = names.quoted("claim", '"');
    format!(
        "DELETE FROM {claim} WHERE lane = ? AND position = ? AND message_id = ? AND token = ?
    AND expires_at > {now}"
    )
}

fn complete(names: &TableNames) -> String {
    let message = names.quoted("message", '"');
    format!("DELETE FROM {message} WHERE lane = ? AND position = ?")
}

fn fail(names: &TableNames, clock: Now) -> String {
    let now = clock.sqlite();
    let message = names.quoted("message", '"');
    format!(
        "UPDATE {message} SET attempts = attempts + 1, revision = revision + 1,
    available_at = {now} + ?,
    first_failed_at = coalesce(first_failed_at, {now}), last_error = ?
WHERE lane = ? AND position = ?"
    )
}

fn known(names: &TableNames, clock: Now) -> String {
    let now = clock.sqlite();
    let [claim, message] = ["claim", "message"].map(|table| names.quoted(table, '"'));
    format!(
        "SELECT c.lane, c.position, c.expires_at - {now}, m.topic, m.ordering_key
FROM {claim} AS c LEFT JOIN {message} AS m ON m.position = c.position AND m.lane = c.lane
WHERE c.lane IN (SELECT value FROM json_each(?)) ORDER BY c.lane, c.position"
    )
}

fn clear(names: &TableNames, clock: Now) -> String {
    let now = clock.sqlite();
    let claim = names.quoted("claim", '"');
    format!(
        "DELETE FROM {claim}
WHERE lane IN (SELECT value FROM json_each(?)) AND expires_at <= {now}"
    )
}

fn lanes(leases: &[LaneLease]) -> Value {
    json_lanes(leases).into()
}
