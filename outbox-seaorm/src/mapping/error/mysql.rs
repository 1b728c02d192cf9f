//! Refusals of MariaDB and MySQL, by error number and SQLSTATE.

use std::error::Error;
use std::fmt;

use outbox_core::{StoreError, StoreErrorKind};
use sea_orm::sqlx::error::DatabaseError;
use sea_orm::sqlx::mysql::MySqlDatabaseError;

use super::because;

/// The server rolled the whole transaction back, because two of them waited for each other.
#[derive(Debug)]
struct Deadlock;

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a deadlock with another transaction (error {DEADLOCK})")
    }
}

impl Error for Deadlock {}

/// Whether nothing of the transaction took effect, and doing all of it again may well succeed.
pub(crate) fn is_deadlock(error: &StoreError) -> bool {
    error.source().is_some_and(<dyn Error>::is::<Deadlock>)
}

/// The error of an operation that the server refused.
pub(super) fn refusal(operation: &'static str, error: &dyn DatabaseError) -> Option<StoreError> {
    let error = error.try_downcast_ref::<MySqlDatabaseError>()?;
    if error.number() == DEADLOCK {
        let deadlock = StoreError::new(StoreErrorKind::Conflict, operation);
        return Some(deadlock.with_source(Deadlock));
    }
    let kind = kind(error);
    Some(because(kind, operation, text(kind, error)))
}

const DEADLOCK: u16 = 1213;

fn kind(error: &MySqlDatabaseError) -> StoreErrorKind {
    match error.number() {
        // The database, a table, a column or an index is not there, or a column of ours is not the
        // only one that has no default.
        1049 | 1051 | 1054 | 1146 | 1176 | 1364 => StoreErrorKind::SchemaMissing,
        // The server, its storage or the transaction is read-only.
        1290 | 1792 | 1836 => StoreErrorKind::ReadOnly,
        1044 | 1045 | 1130 | 1142 | 1143 | 1227 | 1370 | 1698 => StoreErrorKind::PermissionDenied,
        // A row or a table that changed, a lock or a statement that took too long (two numbers each
        // on the two servers), a statement that was ended: rolled back for sure.
        1020 | 1205 | 1317 | 1412 | 1969 | 3024 | 3572 => StoreErrorKind::Conflict,
        number if is_unavailable(number) => StoreErrorKind::Unavailable,
        // A row that is too large, text that a column cannot hold, a constraint: without a class of
        // their own on one of the two servers.
        1118 | 1366 | 3819 | 4025 => StoreErrorKind::Corrupt,
        _ => by_class(error.code().unwrap_or_default()),
    }
}

/// Storage, memory and connections that are used up or broken, a server that starts or ends.
const fn is_unavailable(number: u16) -> bool {
    matches!(
        number,
        1021 | 1026
            | 1028
            | 1030
            | 1037
            | 1038
            | 1040
            | 1041
            | 1047
            | 1053
            | 1077..=1080
            | 1114
            | 1135
            | 1152
            | 1153..=1161
            | 1180
            | 1184
            | 1203
            | 1226
            | 1461
            | 1927
            | 2006
            | 2013
            | 4031
    )
}

fn by_class(code: &str) -> StoreErrorKind {
    match code.get(..2).unwrap_or_default() {
        "08" => StoreErrorKind::Unavailable,
        "28" => StoreErrorKind::PermissionDenied,
        "40" | "70" => StoreErrorKind::Conflict,
        // Values, constraints, triggers that signal.
        "22" | "23" | "45" => StoreErrorKind::Corrupt,
        // Among them a prepared statement that is to be prepared again, and a binary log that does
        // not take what the statement does.
        _ => StoreErrorKind::Refused,
    }
}

/// The message only where it quotes neither a value nor the user's name.
fn text(kind: StoreErrorKind, error: &MySqlDatabaseError) -> String {
    let (number, code) = (error.number(), error.code().unwrap_or_default());
    match kind {
        StoreErrorKind::Conflict
        | StoreErrorKind::ReadOnly
        | StoreErrorKind::Refused
        | StoreErrorKind::SchemaMissing
        | StoreErrorKind::Unavailable
            // Resources of a user: the message names the user.
            if !matches!(number, 1203 | 1226) =>
        {
            format!("{} (error {number}, SQLSTATE {code})", error.message())
        }
        _ => format!("error {number}, SQLSTATE {code}"),
    }
}
