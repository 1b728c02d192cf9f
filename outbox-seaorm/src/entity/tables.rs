//! All tables.

use super::record::ALL;
use super::table::Table;

/// Every table.
pub const TABLES: [Table; 11] =
    [AUDIT, CLAIM, DEAD_LETTER, INBOX, LANE, MESSAGE, META, PARKED, PARKED_KEY, PUBLISHED, WORKER];

/// What operators did.
pub const AUDIT: Table = plain(
    "audit",
    &["id", "action", "message_id", "actor", "reason", "at", "previous_failure", "attempts_before"],
);

/// Claims of single records.
pub const CLAIM: Table =
    plain("claim", &["lane", "position", "message_id", "token", "owner", "expires_at"]);

/// Records that are not tried again by themselves.
pub const DEAD_LETTER: Table = record("dead_letter", &["reason", "died_at"]);

/// What consumers have accepted.
pub const INBOX: Table = plain("inbox", &["consumer", "message_id", "accepted_at"]);

/// The lanes and who holds them.
pub const LANE: Table = plain(
    "lane",
    &[
        "lane",
        "token",
        "owner",
        "expires_at",
        "abandoned",
        "suspect_id",
        "suspect_position",
        "suspect_deaths",
    ],
);

/// What is still to be sent.
pub const MESSAGE: Table = record("message", &[]);

/// One row about the schema itself.
pub const META: Table = plain("meta", &["id", "lowest_binary_version", "deployment_id"]);

/// Records behind a dead one of their key.
pub const PARKED: Table = record("parked", &["parked_at"]);

/// Keys with a dead record.
pub const PARKED_KEY: Table = plain(
    "parked_key",
    &["topic", "ordering_key", "dead_id", "dead_lane", "dead_position", "lane", "parked_at"],
);

/// What was sent, where it is kept.
pub const PUBLISHED: Table = record("published", &["published_at", "broker_id"]);

/// The workers that live.
pub const WORKER: Table = plain(
    "worker",
    &["id", "version", "max_format", "topics", "wants_lanes", "started_at", "seen_at"],
);

const fn plain(word: &'static str, own: &'static [&'static str]) -> Table {
    Table { word, shared: &[], own }
}

const fn record(word: &'static str, own: &'static [&'static str]) -> Table {
    Table { word, shared: &ALL, own }
}
