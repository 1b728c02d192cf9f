//! The tables on MariaDB, from version 10.6, and MySQL, from version 8.0.17.
//!
//! These servers store what does not fit by cutting it, unless the session asked for an error. No
//! session is trusted to: text that is in no key has a type that nothing outgrows, and text in a
//! key has room for one character more than a check allows, so that what was cut is still too long.
//!
//! They commit at every statement that changes the schema, so that a migration can die half done.
//! Each statement here therefore leaves alone what is there already: running all of them again
//! finishes what was begun.

use uuid::Uuid;

use super::{LOWEST_BINARY_VERSION, TABLES};
use outbox_core::TableNames;

use crate::{
    mysql::{COMMENT, is_in_schema, is_named},
    names::SqlNames as _,
};

/// The database's clock at the statement, in UTC. `CURRENT_TIMESTAMP` is in the session's time zone.
const NOW: &str = "DEFAULT (UTC_TIMESTAMP(6))";

/// Two keys of 257 and 511 characters of four bytes are the most that an index takes: 3072 bytes.
const TOPIC: &str = "VARCHAR(257)";
const ORDERING_KEY: &str = "VARCHAR(511)";

/// What was staged. Never changes while the record lives, wherever it lives.
const STAGED: &str = "
    -- Event id, CloudEvents id and deduplication id. Not unique: a commit whose answer was lost may
    -- be repeated under the same id, and the index would cost every insert.
    id BINARY(16) NOT NULL,
    -- Form of the row: a worker that does not know it leaves the record alone.
    format SMALLINT NOT NULL,
    -- Null: the worker's route for the topic decides.
    transport LONGTEXT NULL,
    -- Stable wire name and version, without which no consumer can read the payload.
    event_type LONGTEXT NOT NULL,
    event_version INT NOT NULL,
    topic {TOPIC} NOT NULL,
    -- CloudEvents demands a source; a subject is optional there.
    source LONGTEXT NOT NULL,
    subject LONGTEXT NULL,
    -- Null: the event has no key.
    partition_key LONGTEXT NULL,
    -- Null: the event is not ordered, nothing waits for it and it waits for nothing.
    ordering_key {ORDERING_KEY} NULL,
    content_type LONGTEXT NOT NULL,
    -- Bytes: what is sent must be what was staged, byte for byte.
    payload LONGBLOB NOT NULL,
    -- Bytes this record counts against a read's budget, known without touching the payload.
    size INT NOT NULL,
    -- JSON as text, because a JSON column forgets order and repeated names. Never null, so that
    -- there is one way to have none.
    headers LONGTEXT NOT NULL DEFAULT ('[]'),
    -- Null: the application has no tenants, the event answers none, or nothing was traced.
    tenant LONGTEXT NULL,
    correlation_id LONGTEXT NULL,
    causation_id LONGTEXT NULL,
    traceparent LONGTEXT NULL,
    tracestate LONGTEXT NULL,
    -- The application's clock. Told to consumers, never computed with.
    occurred_at DATETIME(6) NOT NULL,";

/// What became of the record so far.
const PROGRESS: &str = "
    -- The application's delivery time; null: at once. Retries leave it alone.
    deliver_at DATETIME(6) NULL,
    -- First instant at which the record may be sent; null: now.
    available_at DATETIME(6) NULL,
    -- A record begins with nothing tried.
    attempts INT NOT NULL DEFAULT 0,
    replays INT NOT NULL DEFAULT 0,
    -- Raised by every settlement that keeps the row. An outcome names the revision it is about, so
    -- a repeated or late one changes nothing; null would match none.
    revision INT NOT NULL DEFAULT 0,
    -- Null: never failed.
    first_failed_at DATETIME(6) NULL,
    last_error LONGTEXT NULL";

/// The lane of a failed record of an ordered key, null for all others: a lane's owner loads these
/// and walks no scheduled one. Stored, so that the purge of settled records has nothing to compute.
const FAILED_LANE: &str = "
    failed_lane SMALLINT GENERATED ALWAYS AS (
        CASE WHEN attempts > 0 AND ordering_key IS NOT NULL THEN lane END
    ) STORED";

/// Statements that create what is missing. Text is compared as this collation says.
///
/// The row of `meta` comes last: where it is, everything else is.
pub(super) fn create(names: &TableNames, collation: &str, deployment: Uuid) -> Vec<String> {
    let schema = Schema { names, collation };
    let mut statements = vec![schema.message(), schema.lane(), lanes(names)];
    statements.extend(schema.copies());
    statements.extend([schema.parked_key(), schema.audit(), schema.claim(), schema.inbox()]);
    statements.extend([schema.worker(), schema.meta(), meta_row(names, deployment)]);
    statements
}

/// Lists which of the names are taken by tables that are no outbox's.
pub(super) fn foreign(names: &TableNames) -> String {
    let tables = TABLES.map(|table| is_named(&names.identifier(table))).join(" OR ");
    let schema = is_in_schema(names.schema());
    format!(
        "SELECT CONVERT(TABLE_NAME USING utf8mb4) AS name FROM information_schema.TABLES
         WHERE {schema} AND ({tables}) AND TABLE_COMMENT <> '{COMMENT}' ORDER BY name"
    )
}

/// All lanes from the start: a lease updates rows and never has to make one.
fn lanes(names: &TableNames) -> String {
    let table = names.quoted("lane", '`');
    let lanes: Vec<String> = (0..64).map(|lane| format!("({lane})")).collect();
    let lanes = lanes.join(", ");
    format!("INSERT INTO {table} (lane) VALUES {lanes} ON DUPLICATE KEY UPDATE lane = lane")
}

fn meta_row(names: &TableNames, deployment: Uuid) -> String {
    let table = names.quoted("meta", '`');
    let deployment = deployment.simple();
    format!(
        "INSERT INTO {table} (id, lowest_binary_version, deployment_id)
         VALUES (1, '{LOWEST_BINARY_VERSION}', X'{deployment}') ON DUPLICATE KEY UPDATE id = id"
    )
}

struct Schema<'a> {
    names: &'a TableNames,
    collation: &'a str,
}

impl Schema<'_> {
    fn message(&self) -> String {
        let columns = columns("AUTO_INCREMENT", NOW);
        let earliest = |column: &str| format!("{column} >= '1000-01-01'");
        let checks = [
            // The lane's range is part of the format: a record outside of it would never be leased.
            self.check("message_lane", "lane BETWEEN 0 AND 63"),
            self.check("message_topic", "CHAR_LENGTH(topic) <= 256"),
            self.check("message_ordering_key", "CHAR_LENGTH(ordering_key) <= 510"),
            // What an instant beyond the year 9999 becomes where it is no error.
            self.check("message_occurred_at", &earliest("occurred_at")),
            self.check("message_deliver_at", &earliest("deliver_at")),
            self.check("message_available_at", &earliest("available_at")),
        ]
        .join("");
        let [position, due, failed] =
            ["message_position", "message_due", "message_failed"].map(|index| self.name(index));
        // A position that is drawn by itself must begin an index, and the key begins with the lane.
        self.table(
            "message",
            &format!(
                "{columns},{FAILED_LANE},
    PRIMARY KEY (lane, position),
    KEY {position} (position),
    KEY {due} (lane, available_at),
    KEY {failed} (failed_lane){checks}"
            ),
        )
    }

    fn lane(&self) -> String {
        // Token, owner and expiry are null while nobody holds the lane: a comparison with null is
        // never true, so a lane without a lease lets no settlement through. The suspect columns are
        // null unless workers died on the lane.
        let check = self.check("lane_lane", "lane BETWEEN 0 AND 63");
        self.table(
            "lane",
            &format!(
                "
    lane SMALLINT NOT NULL,
    token BINARY(16) NULL,
    owner BINARY(16) NULL,
    expires_at DATETIME(6) NULL,
    abandoned INT NOT NULL DEFAULT 0,
    suspect_id BINARY(16) NULL,
    suspect_position BIGINT NULL,
    suspect_deaths INT NOT NULL DEFAULT 0,
    PRIMARY KEY (lane){check}"
            ),
        )
    }

    /// The tables to which a record moves as it is. Keyed by its place, not by its id: two records
    /// may carry one id, and both must be able to move.
    fn copies(&self) -> [String; 3] {
        let columns = columns("", "");
        let copy = |word: &str, own: String| {
            self.table(word, &format!("{columns},{own},\n    PRIMARY KEY (lane, position)"))
        };
        [
            // A dead letter always says why it is one.
            copy(
                "dead_letter",
                format!("\n    reason LONGTEXT NOT NULL,\n    died_at DATETIME(6) NOT NULL {NOW}"),
            ),
            copy("parked", format!("\n    parked_at DATETIME(6) NOT NULL {NOW}")),
            // Null broker id: the broker gave none.
            copy(
                "published",
                format!(
                    "\n    published_at DATETIME(6) NOT NULL {NOW},\n    broker_id LONGTEXT NULL"
                ),
            ),
        ]
    }

    fn parked_key(&self) -> String {
        let checks = self.check("parked_key_topic", "CHAR_LENGTH(topic) <= 256")
            + &self.check("parked_key_ordering_key", "CHAR_LENGTH(ordering_key) <= 510");
        // A lane's owner loads the parked keys of its lane alone.
        let by_lane = self.name("parked_key_lane");
        // A key is parked once. The dead letter that parked it is named whole, because an operator
        // must be able to find it; no foreign key, because it may be purged first.
        self.table(
            "parked_key",
            &format!(
                "
    topic {TOPIC} NOT NULL,
    ordering_key {ORDERING_KEY} NOT NULL,
    dead_id BINARY(16) NOT NULL,
    dead_lane SMALLINT NOT NULL,
    dead_position BIGINT NOT NULL,
    lane SMALLINT NOT NULL,
    parked_at DATETIME(6) NOT NULL {NOW},
    PRIMARY KEY (topic, ordering_key),
    KEY {by_lane} (lane){checks}"
            ),
        )
    }

    fn audit(&self) -> String {
        let check =
            self.check("audit_action", "action IN ('replay', 'discard', 'unpark', 'erase')");
        // The history of one event.
        let of_message = self.name("audit_message");
        // An entry without an actor or a reason is worth nothing. The failure and the attempts are
        // null where the action had none before it (an unparked key, an erased record).
        self.table(
            "audit",
            &format!(
                "
    id BINARY(16) NOT NULL,
    action VARCHAR(8) NOT NULL,
    message_id BINARY(16) NOT NULL,
    actor LONGTEXT NOT NULL,
    reason LONGTEXT NOT NULL,
    at DATETIME(6) NOT NULL {NOW},
    previous_failure LONGTEXT NULL,
    attempts_before INT NULL,
    PRIMARY KEY (id),
    KEY {of_message} (message_id){check}"
            ),
        )
    }

    /// Keyed by the record's place, so that a second claim of one record has nowhere to stand.
    fn claim(&self) -> String {
        self.table(
            "claim",
            "
    lane SMALLINT NOT NULL,
    position BIGINT NOT NULL,
    -- Matched too: the place alone would let a claim survive its record.
    message_id BINARY(16) NOT NULL,
    token BINARY(16) NOT NULL,
    owner BINARY(16) NOT NULL,
    expires_at DATETIME(6) NOT NULL,
    PRIMARY KEY (lane, position)",
        )
    }

    /// The key is the duplicate guard itself: each consumer accepts an event once.
    fn inbox(&self) -> String {
        let check = self.check("inbox_consumer", "CHAR_LENGTH(consumer) <= 255");
        self.table(
            "inbox",
            &format!(
                "
    consumer VARCHAR(256) NOT NULL,
    message_id BINARY(16) NOT NULL,
    accepted_at DATETIME(6) NOT NULL {NOW},
    PRIMARY KEY (consumer, message_id){check}"
            ),
        )
    }

    fn worker(&self) -> String {
        self.table(
            "worker",
            &format!(
                "
    id BINARY(16) NOT NULL,
    version LONGTEXT NOT NULL,
    max_format SMALLINT NOT NULL,
    -- JSON: what the worker has routes for.
    topics LONGTEXT NOT NULL,
    -- Null: the worker takes no part in sharing lanes. Counted in, it would leave its share idle.
    wants_lanes INT NULL,
    started_at DATETIME(6) NOT NULL {NOW},
    seen_at DATETIME(6) NOT NULL {NOW},
    PRIMARY KEY (id)"
            ),
        )
    }

    /// One row: the check and the key leave no room for a second.
    fn meta(&self) -> String {
        let check = self.check("meta_id", "id = 1");
        self.table(
            "meta",
            &format!(
                "
    id SMALLINT NOT NULL DEFAULT 1,
    lowest_binary_version LONGTEXT NOT NULL,
    deployment_id BINARY(16) NOT NULL,
    PRIMARY KEY (id){check}"
            ),
        )
    }

    /// What the server would otherwise take from its own settings is said.
    fn table(&self, word: &str, body: &str) -> String {
        let (table, collation) = (self.names.quoted(word, '`'), self.collation);
        format!(
            "CREATE TABLE IF NOT EXISTS {table} ({body}
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC
  DEFAULT CHARACTER SET utf8mb4 COLLATE {collation} COMMENT = '{COMMENT}'"
        )
    }

    /// Named here: MySQL derives a longer name from the table's, which may have no room left.
    fn check(&self, word: &str, condition: &str) -> String {
        format!(",\n    CONSTRAINT {} CHECK ({condition})", self.name(word))
    }

    fn name(&self, word: &str) -> String {
        self.names.unqualified(word, '`')
    }
}

/// A record's columns. A copy gets no default for its place and its age: it brings its own.
fn columns(position: &str, created_at: &str) -> String {
    let staged = STAGED.replace("{TOPIC}", TOPIC).replace("{ORDERING_KEY}", ORDERING_KEY);
    format!(
        "
    lane SMALLINT NOT NULL,
    position BIGINT NOT NULL {position},{staged}
    -- The database's clock, which the ages are computed with.
    created_at DATETIME(6) NOT NULL {created_at},{PROGRESS}"
    )
}
