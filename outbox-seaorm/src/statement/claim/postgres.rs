//! Claiming single records on PostgreSQL.
//!
//! Each statement of a transaction sees what was committed before it began, and a locked row as it
//! is by then: what a statement waits for, it judges anew.

use outbox_core::{LaneLease, TableNames};
use sea_orm::Value;

use super::Claims;
use crate::statement::clock::Now;

impl Claims {
    pub(crate) fn on_postgres(names: &TableNames, clock: Now) -> Self {
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
    let now = clock.postgres();
    let lane = names.quoted("lane", '"');
    format!(
        "SELECT CASE WHEN l.token IS NOT NULL AND l.expires_at > {now} THEN l.owner END
FROM {lane} l WHERE l.lane = $1 FOR NO KEY UPDATE OF l"
    )
}

fn record(names: &TableNames, clock: Now) -> String {
    let now = clock.postgres();
    let message = names.quoted("message", '"');
    format!(
        "SELECT m.revision,
    (m.available_at IS NULL OR m.available_at <= {now})::integer::bigint
FROM {message} m WHERE m.lane = $1 AND m.position = $2 AND m.id = $3 FOR NO KEY UPDATE OF m"
    )
}

fn parked(names: &TableNames) -> String {
    let [message, parked, parked_key] =
        ["message", "parked", "parked_key"].map(|table| names.quoted(table, '"'));
    format!(
        "SELECT 1 FROM {message} m
JOIN {parked_key} k ON k.topic = m.topic AND k.ordering_key = m.ordering_key
WHERE m.lane = $1 AND m.position = $2 AND m.id = $3
UNION ALL
SELECT 1 FROM {parked} p WHERE p.lane = $4 AND p.position = $5 AND p.id = $6"
    )
}

fn holder(names: &TableNames, clock: Now) -> String {
    let now = clock.postgres();
    let claim = names.quoted("claim", '"');
    format!(
        "SELECT CASE WHEN c.expires_at > {now} THEN c.owner END
FROM {claim} c WHERE c.lane = $1 AND c.position = $2 FOR UPDATE OF c"
    )
}

fn take(names: &TableNames, clock: Now) -> String {
    let now = clock.postgres();
    let claim = names.quoted("claim", '"');
    format!(
        "INSERT INTO {claim} (lane, position, message_id, token, owner, expires_at)
VALUES ($1, $2, $3, $4, $5, {now} + $6 * interval '1 microsecond')
ON CONFLICT (lane, position) DO UPDATE SET message_id = excluded.message_id,
    token = excluded.token, owner = excluded.owner, expires_at = excluded.expires_at"
    )
}

fn renew(names: &TableNames, clock: Now) -> String {
    let now = clock.postgres();
    let claim = names.quoted("claim", '"');
    format!(
        "UPDATE {claim} c
SET expires_at = greatest(c.expires_at, {now} + $1 * interval '1 microsecond')
WHERE c.lane = $2 AND c.position = $3 AND c.message_id = $4 AND c.token = $5
    AND c.expires_at > {now}"
    )
}

fn claimed(names: &TableNames) -> String {
    let message = names.quoted("message", '"');
    format!(
        "SELECT 1 FROM {message} m
WHERE m.lane = $1 AND m.position = $2 AND m.id = $3 AND m.revision = $4 FOR UPDATE OF m"
    )
}

/// The fence of whatever a claim settles.
fn end(names: &TableNames, clock: Now) -> String {
    let now = clock.postgres();
    let claim = names.quoted("claim", '"');
    format!(
        "DELETE FROM {claim} c
WHERE c.lane = $1 AND c.position = $2 AND c.message_id = $3 AND c.token = $4
    AND c.expires_at > {now}"
    )
}

fn complete(names: &TableNames) -> String {
    let message = names.quoted("message", '"');
    format!("DELETE FROM {message} m WHERE m.lane = $1 AND m.position = $2")
}

fn fail(names: &TableNames, clock: Now) -> String {
    let now = clock.postgres();
    let message = names.quoted("message", '"');
    format!(
        "UPDATE {message} m SET attempts = m.attempts + 1, revision = m.revision + 1,
    available_at = {now} + $1 * interval '1 microsecond',
    first_failed_at = coalesce(m.first_failed_at, {now}), last_error = $2
WHERE m.lane = $3 AND m.position = $4"
    )
}

/// The limit keeps each record a search of its own: a plan made while the table is empty may read it
/// from end to end otherwise.
fn known(names: &TableNames, clock: Now) -> String {
    let now = clock.postgres();
    let [claim, message] = ["claim", "message"].map(|table| names.quoted(table, '"'));
    format!(
        "SELECT c.lane, c.position,
    (extract(epoch FROM c.expires_at - {now}) * 1000000)::bigint,
    m.topic, m.ordering_key
FROM {claim} c LEFT JOIN LATERAL (
    SELECT m.topic, m.ordering_key FROM {message} m
    WHERE m.lane = c.lane AND m.position = c.position LIMIT 1
) m ON true
WHERE c.lane = ANY($1) ORDER BY c.lane, c.position"
    )
}

fn clear(names: &TableNames, clock: Now) -> String {
    let now = clock.postgres();
    let claim = names.quoted("claim", '"');
    format!("DELETE FROM {claim} c WHERE c.lane = ANY($1) AND c.expires_at <= {now}")
}

fn lanes(leases: &[LaneLease]) -> Value {
    leases.iter().map(|lease| i16::from(lease.lane.number())).collect::<Vec<i16>>().into()
}
