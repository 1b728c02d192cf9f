//! The tables on SQLite, from version 3.35.
//!
//! Ids are blobs of 16 bytes and instants are integer microseconds since the epoch: that is how
//! they are bound, and comparing across kinds is never true. No STRICT tables, they need 3.37.

use uuid::Uuid;

use super::{LOWEST_BINARY_VERSION, literals};
use outbox_core::TableNames;

use crate::names::SqlNames as _;

/// SQLite's own clock in microseconds. It counts milliseconds; a fraction taken from `%f` is exact,
/// one computed from `julianday` is not. `unixepoch('subsec')` needs 3.42.
const NOW: &str = "DEFAULT (
        CAST(strftime('%s', 'now') AS INTEGER) * 1000000
        + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000)";

/// What was staged. Never changes while the record lives, wherever it lives.
const STAGED: &str = "
    -- Event id, CloudEvents id and deduplication id. Not unique: a commit whose answer was lost may
    -- be repeated under the same id, and the index would cost every insert.
    id blob NOT NULL,
    -- Form of the row: a worker that does not know it leaves the record alone.
    format integer NOT NULL,
    -- Null: the worker's route for the topic decides.
    transport text NULL,
    -- Stable wire name and version, without which no consumer can read the payload.
    event_type text NOT NULL,
    event_version integer NOT NULL,
    topic text NOT NULL,
    -- CloudEvents demands a source; a subject is optional there.
    source text NOT NULL,
    subject text NULL,
    -- Null: the event has no key.
    partition_key text NULL,
    -- Null: the event is not ordered, nothing waits for it and it waits for nothing.
    ordering_key text NULL,
    content_type text NOT NULL,
    -- Bytes: what is sent must be what was staged, byte for byte.
    payload blob NOT NULL,
    -- Bytes this record counts against a read's budget, known without touching the payload.
    size integer NOT NULL,
    -- JSON. Never null, so that there is one way to have none.
    headers text NOT NULL DEFAULT '[]',
    -- Null: the application has no tenants, the event answers none, or nothing was traced.
    tenant text NULL,
    correlation_id text NULL,
    causation_id text NULL,
    traceparent text NULL,
    tracestate text NULL,
    -- The application's clock. Told to consumers, never computed with.
    occurred_at integer NOT NULL,";

/// What became of the record so far.
const PROGRESS: &str = "
    -- The application's delivery time; null: at once. Retries leave it alone.
    deliver_at integer NULL,
    -- First instant at which the record may be sent; null: now. Most records are null and
    -- stay out of the partial index.
    available_at integer NULL,
    -- A record begins with nothing tried.
    attempts integer NOT NULL DEFAULT 0,
    replays integer NOT NULL DEFAULT 0,
    -- Raised by every settlement that keeps the row. An outcome names the revision it is about, so
    -- a repeated or late one changes nothing; null would match none.
    revision integer NOT NULL DEFAULT 0,
    -- Null: never failed.
    first_failed_at integer NULL,
    last_error text NULL";

pub(super) fn create(names: &TableNames, deployment: Uuid) -> Vec<String> {
    let mut statements = message(names);
    statements.extend(lane(names));
    statements.extend(copies(names));
    statements.extend(parked_key(names));
    statements.extend(audit(names));
    statements.extend(meta(names, deployment));
    statements.extend([claim(names), inbox(names), worker(names)]);
    statements
}

/// Lists which of the names are taken. SQLite takes names that differ in case alone for one.
pub(super) fn present(names: &TableNames) -> String {
    let tables = literals(names);
    format!("SELECT name FROM sqlite_master WHERE name COLLATE NOCASE IN ({tables}) ORDER BY name")
}

fn message(names: &TableNames) -> Vec<String> {
    let table = names.qualified("message");
    let [by_lane, due, failed] =
        ["message_lane", "message_due", "message_failed"].map(|index| names.qualified(index));
    // AUTOINCREMENT: without it SQLite gives the highest position again once its row is gone, and
    // a settlement that is repeated would delete the event that came after. It wants the position
    // alone as the key, so lane and position get an index of their own.
    let columns = columns("PRIMARY KEY AUTOINCREMENT", NOW);
    vec![
        // The lane's range is part of the format: a record outside of it would never be leased.
        format!("CREATE TABLE {table} ({columns},\n    CHECK (lane BETWEEN 0 AND 63)\n)"),
        format!("CREATE INDEX {by_lane} ON {table} (lane, position)"),
        // Only scheduled and retried records are in it, so that most inserts pay nothing.
        format!(
            "CREATE INDEX {due} ON {table} (lane, available_at) WHERE available_at IS NOT NULL"
        ),
        // A lane's owner loads the failed records of ordered keys of its lane, among which no other
        // scheduled one is: most records are never in it.
        format!(
            "CREATE INDEX {failed} ON {table} (lane)
    WHERE attempts > 0 AND ordering_key IS NOT NULL"
        ),
    ]
}

fn lane(names: &TableNames) -> [String; 2] {
    let table = names.qualified("lane");
    [
        // Token, owner and expiry are null while nobody holds the lane: a comparison with null is
        // never true, so a lane without a lease lets no settlement through. The suspect columns are
        // null unless workers died on the lane.
        format!(
            "CREATE TABLE {table} (
    lane integer NOT NULL PRIMARY KEY CHECK (lane BETWEEN 0 AND 63),
    token blob NULL,
    owner blob NULL,
    expires_at integer NULL,
    abandoned integer NOT NULL DEFAULT 0,
    suspect_id blob NULL,
    suspect_position integer NULL,
    suspect_deaths integer NOT NULL DEFAULT 0
)"
        ),
        // All lanes from the start: a lease updates rows and never has to make one.
        format!(
            "WITH RECURSIVE lanes (lane) AS (
    SELECT 0 UNION ALL SELECT lane + 1 FROM lanes WHERE lane < 63
) INSERT INTO {table} (lane) SELECT lane FROM lanes"
        ),
    ]
}

/// The tables to which a record moves as it is. Keyed by its place, not by its id: two records may
/// carry one id, and both must be able to move.
fn copies(names: &TableNames) -> [String; 3] {
    let columns = columns("", "");
    let copy = |object: &str, own: String| {
        let table = names.qualified(object);
        format!("CREATE TABLE {table} ({columns},{own},\n    PRIMARY KEY (lane, position)\n)")
    };
    [
        // A dead letter always says why it is one.
        copy(
            "dead_letter",
            format!("\n    reason text NOT NULL,\n    died_at integer NOT NULL {NOW}"),
        ),
        copy("parked", format!("\n    parked_at integer NOT NULL {NOW}")),
        // Null broker id: the broker gave none.
        copy(
            "published",
            format!("\n    published_at integer NOT NULL {NOW},\n    broker_id text NULL"),
        ),
    ]
}

/// A record's columns. A copy gets no default for its place and its age: it brings its own.
fn columns(position: &str, created_at: &str) -> String {
    format!(
        "
    lane integer NOT NULL,
    position integer NOT NULL {position},{STAGED}
    -- The database's clock, which the ages are computed with.
    created_at integer NOT NULL {created_at},{PROGRESS}"
    )
}

fn parked_key(names: &TableNames) -> [String; 2] {
    let (table, index) = (names.qualified("parked_key"), names.qualified("parked_key_lane"));
    [
        // A key is parked once. The dead letter that parked it is named whole, because an operator
        // must be able to find it; no foreign key, because it may be purged first.
        format!(
            "CREATE TABLE {table} (
    topic text NOT NULL,
    ordering_key text NOT NULL,
    dead_id blob NOT NULL,
    dead_lane integer NOT NULL,
    dead_position integer NOT NULL,
    lane integer NOT NULL,
    parked_at integer NOT NULL {NOW},
    PRIMARY KEY (topic, ordering_key)
)"
        ),
        // A lane's owner loads the parked keys of its lane alone.
        format!("CREATE INDEX {index} ON {table} (lane)"),
    ]
}

fn audit(names: &TableNames) -> [String; 2] {
    let (table, index) = (names.qualified("audit"), names.qualified("audit_message"));
    [
        // An entry without an actor or a reason is worth nothing. The failure and the attempts are
        // null where the action had none before it (an unparked key, an erased record).
        format!(
            "CREATE TABLE {table} (
    id blob NOT NULL,
    action text NOT NULL CHECK (action IN ('replay', 'discard', 'unpark', 'erase')),
    message_id blob NOT NULL,
    actor text NOT NULL,
    reason text NOT NULL,
    at integer NOT NULL {NOW},
    previous_failure text NULL,
    attempts_before integer NULL,
    PRIMARY KEY (id)
)"
        ),
        // The history of one event.
        format!("CREATE INDEX {index} ON {table} (message_id)"),
    ]
}

fn meta(names: &TableNames, deployment: Uuid) -> [String; 2] {
    let table = names.qualified("meta");
    let deployment = deployment.simple();
    [
        // One row: the check and the key leave no room for a second.
        format!(
            "CREATE TABLE {table} (
    id integer NOT NULL PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    lowest_binary_version text NOT NULL,
    deployment_id blob NOT NULL
)"
        ),
        format!(
            "INSERT INTO {table} (id, lowest_binary_version, deployment_id)
             VALUES (1, '{LOWEST_BINARY_VERSION}', x'{deployment}')"
        ),
    ]
}

/// Keyed by the record's place, so that a second claim of one record has nowhere to stand.
fn claim(names: &TableNames) -> String {
    let table = names.qualified("claim");
    format!(
        "CREATE TABLE {table} (
    lane integer NOT NULL,
    position integer NOT NULL,
    -- Matched too: the place alone would let a claim survive its record.
    message_id blob NOT NULL,
    token blob NOT NULL,
    owner blob NOT NULL,
    expires_at integer NOT NULL,
    PRIMARY KEY (lane, position)
)"
    )
}

/// The key is the duplicate guard itself: each consumer accepts an event once.
fn inbox(names: &TableNames) -> String {
    let table = names.qualified("inbox");
    // The key is nearly the whole row; WITHOUT ROWID stores it once instead of twice.
    format!(
        "CREATE TABLE {table} (
    consumer text NOT NULL,
    message_id blob NOT NULL,
    accepted_at integer NOT NULL {NOW},
    PRIMARY KEY (consumer, message_id)
) WITHOUT ROWID"
    )
}

fn worker(names: &TableNames) -> String {
    let table = names.qualified("worker");
    format!(
        "CREATE TABLE {table} (
    id blob NOT NULL,
    version text NOT NULL,
    max_format integer NOT NULL,
    -- JSON: what the worker has routes for.
    topics text NOT NULL,
    -- Null: the worker takes no part in sharing lanes. Counted in, it would leave its share idle.
    wants_lanes integer NULL,
    started_at integer NOT NULL {NOW},
    seen_at integer NOT NULL {NOW},
    PRIMARY KEY (id)
)"
    )
}
