//! What a role must be allowed.

#[cfg(feature = "mysql")]
pub(super) mod mysql;
#[cfg(feature = "postgres")]
pub(super) mod postgres;

use crate::entity::{CLAIM, DEAD_LETTER, LANE, MESSAGE, PARKED, PARKED_KEY, Table, WORKER};

/// Of the statements that count.
pub(super) const READ: &[&str] = &["SELECT"];
/// Of all statements together.
pub(super) const ALL: &[&str] = &["SELECT", "INSERT", "UPDATE", "DELETE"];

/// What the statements need of each table. Whoever locks a row must be allowed to update it.
const NEEDED: [(Table, &[&str]); 7] = [
    (CLAIM, &["SELECT", "DELETE"]),
    (DEAD_LETTER, &["SELECT", "INSERT"]),
    (LANE, &["SELECT", "UPDATE"]),
    (MESSAGE, &["SELECT", "UPDATE", "DELETE"]),
    (PARKED, &["SELECT", "INSERT"]),
    (PARKED_KEY, &["SELECT", "INSERT", "UPDATE"]),
    (WORKER, &["SELECT", "INSERT", "UPDATE", "DELETE"]),
];
