//! The tables on PostgreSQL.

use uuid::Uuid;

use super::{LOWEST_BINARY_VERSION, literals};
use outbox_core::TableNames;

use crate::names::{SqlNames as _, literal};

/// The database's clock at the statement, not at the transaction's begin: a transaction may be open
/// for long, and the ages computed from this must not begin before the row.
const NOW: &str = "DEFAULT clock_timestamp()";

/// What was staged. Never changes while the record lives, wherever it lives.
const STAGED: &str = "
    -- Event id, CloudEvents id and deduplication id. Not unique: a commit whose answer was lost may
    -- be repeated under the same id, and the index would cost every insert.
    id uuid NOT NULL,
    -- Form of the row: a worker that does not know it leaves the record alone.
    format smallint NOT NULL,
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
    -- Bytes, never jsonb: what is sent must be what was staged, byte for byte.
    payload bytea NOT NULL,
    -- Bytes this record counts against a read's budget, known without touching the payload.
    size integer NOT NULL,
    -- JSON as text, because jsonb forgets order and repeated names. Never null, so that there is
    -- one way to have none.
    headers text NOT NULL DEFAULT '[]',
    -- Null: the application has no tenants, the event answers none, or nothing was traced.
    tenant text NULL,
    correlation_id text NULL,
    causation_id text NULL,
    traceparent text NULL,
    tracestate text NULL,
    -- The application's clock. Told to consumers, never computed with.
    occurred_at timestamptz NOT NULL,";

/// What became of the record so far.
const PROGRESS: &str = "
    -- The application's delivery time; null: at once. Retries leave it alone.
    deliver_at timestamptz NULL,
    -- First instant at which the record may be sent; null: now. Most records are null and
    -- stay out of the partial index.
    available_at timestamptz NULL,
    -- A record begins with nothing tried.
    attempts integer NOT NULL DEFAULT 0,
    replays integer NOT NULL DEFAULT 0,
    -- Raised by every settlement that keeps the row. An outcome names the revision it is about, so
    -- a repeated or late one changes nothing; null would match none.
    revision integer NOT NULL DEFAULT 0,
    -- Null: never failed.
    first_failed_at timestamptz NULL,
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

/// Lists which of the names are taken, by whatever kind of relation.
pub(super) fn present(names: &TableNames) -> String {
    let schema = names.schema_literal().unwrap_or_else(|| "current_schema()".to_owned());
    let tables = literals(names);
    format!(
        "SELECT c.relname::text AS name FROM pg_catalog.pg_class c
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = {schema} AND c.relname IN ({tables}) ORDER BY c.relname"
    )
}

fn message(names: &TableNames) -> Vec<String> {
    let (table, sequence) = (names.qualified("message"), names.qualified("position"));
    let due = names.unqualified("message_due", '"');
    let drawn_from = literal(&sequence);
    // The transaction's id is drawn before the position, in this order by CASE: whoever reads a
    // position then knows from the snapshot whether a lower one can still appear.
    let position = format!(
        "DEFAULT CASE WHEN pg_current_xact_id() IS NOT NULL
                 THEN nextval({drawn_from}::regclass) END"
    );
    let columns = columns(&position, NOW);
    vec![
        // No cache: a session that holds numbers in stock would stage a later event of a key under
        // a lower position. No cycle: a position is never used twice.
        format!("CREATE SEQUENCE {sequence} AS bigint CACHE 1 NO CYCLE"),
        // The lane's range is part of the format: a record outside of it would never be leased.
        // Rows come and go all the time, so the table is vacuumed early and at full speed; under
        // the defaults dead rows would outnumber live ones many times over.
        format!(
            "CREATE TABLE {table} ({columns},
    CHECK (lane BETWEEN 0 AND 63),
    PRIMARY KEY (lane, position)
) WITH (
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
)"
        ),
        // Dropped with its column.
        format!("ALTER SEQUENCE {sequence} OWNED BY {table}.position"),
        // Only scheduled and retried records are in it, so that most inserts pay nothing. With the
        // position a read can go on among the records of one instant.
        format!(
            "CREATE INDEX {due} ON {table} (lane, available_at, position)
    WHERE available_at IS NOT NULL"
        ),
        message_failed(names),
    ]
}

/// A lane's owner loads the failed records of ordered keys of its lane, among which no other scheduled
/// one is: most records are never in this index.
fn message_failed(names: &TableNames) -> String {
    let (table, index) = (names.qualified("message"), names.unqualified("message_failed", '"'));
    format!(
        "CREATE INDEX {index} ON {table} (lane)
    WHERE attempts > 0 AND ordering_key IS NOT NULL"
    )
}

fn lane(names: &TableNames) -> [String; 2] {
    let table = names.qualified("lane");
    [
        // Token, owner and expiry are null while nobody holds the lane: a comparison with null is
        // never true, so a lane without a lease lets no settlement through. The suspect columns are
        // null unless workers died on the lane. Renewals rewrite these 64 rows for ever: room in
        // each page keeps the new version beside the old one and out of the index.
        format!(
            "CREATE TABLE {table} (
    lane smallint NOT NULL CHECK (lane BETWEEN 0 AND 63),
    token uuid NULL,
    owner uuid NULL,
    expires_at timestamptz NULL,
    abandoned integer NOT NULL DEFAULT 0,
    suspect_id uuid NULL,
    suspect_position bigint NULL,
    suspect_deaths integer NOT NULL DEFAULT 0,
    PRIMARY KEY (lane)
) WITH (fillfactor = 10)"
        ),
        // All lanes from the start: a lease updates rows and never has to make one.
        format!("INSERT INTO {table} (lane) SELECT generate_series(0, 63)"),
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
            format!("\n    reason text NOT NULL,\n    died_at timestamptz NOT NULL {NOW}"),
        ),
        copy("parked", format!("\n    parked_at timestamptz NOT NULL {NOW}")),
        // Null broker id: the broker gave none.
        copy(
            "published",
            format!("\n    published_at timestamptz NOT NULL {NOW},\n    broker_id text NULL"),
        ),
    ]
}

/// A record's columns. A copy gets no default for its place and its age: it brings its own.
fn columns(position: &str, created_at: &str) -> String {
    format!(
        "
    lane smallint NOT NULL,
    position bigint NOT NULL {position},{STAGED}
    -- The database's clock, which the ages are computed with.
    created_at timestamptz NOT NULL {created_at},{PROGRESS}"
    )
}

fn parked_key(names: &TableNames) -> [String; 2] {
    let (table, index) = (names.qualified("parked_key"), names.unqualified("parked_key_lane", '"'));
    [
        // A key is parked once. The dead letter that parked it is named whole, because an operator
        // must be able to find it; no foreign key, because it may be purged first.
        format!(
            "CREATE TABLE {table} (
    topic text NOT NULL,
    ordering_key text NOT NULL,
    dead_id uuid NOT NULL,
    dead_lane smallint NOT NULL,
    dead_position bigint NOT NULL,
    lane smallint NOT NULL,
    parked_at timestamptz NOT NULL {NOW},
    PRIMARY KEY (topic, ordering_key)
)"
        ),
        // A lane's owner loads the parked keys of its lane alone.
        format!("CREATE INDEX {index} ON {table} (lane)"),
    ]
}

fn audit(names: &TableNames) -> [String; 2] {
    let (table, index) = (names.qualified("audit"), names.unqualified("audit_message", '"'));
    [
        // An entry without an actor or a reason is worth nothing. The failure and the attempts are
        // null where the action had none before it (an unparked key, an erased record).
        format!(
            "CREATE TABLE {table} (
    id uuid NOT NULL,
    action text NOT NULL CHECK (action IN ('replay', 'discard', 'unpark', 'erase')),
    message_id uuid NOT NULL,
    actor text NOT NULL,
    reason text NOT NULL,
    at timestamptz NOT NULL {NOW},
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
    [
        // One row: the check and the key leave no room for a second.
        format!(
            "CREATE TABLE {table} (
    id smallint NOT NULL DEFAULT 1 CHECK (id = 1),
    lowest_binary_version text NOT NULL,
    deployment_id uuid NOT NULL,
    PRIMARY KEY (id)
)"
        ),
        format!(
            "INSERT INTO {table} (lowest_binary_version, deployment_id)
             VALUES ('{LOWEST_BINARY_VERSION}', '{deployment}')"
        ),
    ]
}

/// Keyed by the record's place, so that a second claim of one record has nowhere to stand.
fn claim(names: &TableNames) -> String {
    let table = names.qualified("claim");
    format!(
        "CREATE TABLE {table} (
    lane smallint NOT NULL,
    position bigint NOT NULL,
    -- Matched too: the place alone would let a claim survive its record.
    message_id uuid NOT NULL,
    token uuid NOT NULL,
    owner uuid NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (lane, position)
)"
    )
}

/// The key is the duplicate guard itself: each consumer accepts an event once.
fn inbox(names: &TableNames) -> String {
    let table = names.qualified("inbox");
    format!(
        "CREATE TABLE {table} (
    consumer text NOT NULL,
    message_id uuid NOT NULL,
    accepted_at timestamptz NOT NULL {NOW},
    PRIMARY KEY (consumer, message_id)
)"
    )
}

fn worker(names: &TableNames) -> String {
    let table = names.qualified("worker");
    format!(
        "CREATE TABLE {table} (
    id uuid NOT NULL,
    version text NOT NULL,
    max_format smallint NOT NULL,
    -- JSON: what the worker has routes for.
    topics text NOT NULL,
    -- Null: the worker takes no part in sharing lanes. Counted in, it would leave its share idle.
    wants_lanes integer NULL,
    started_at timestamptz NOT NULL {NOW},
    seen_at timestamptz NOT NULL {NOW},
    PRIMARY KEY (id)
)"
    )
}
