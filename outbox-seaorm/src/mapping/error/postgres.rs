//! Refusals of PostgreSQL, by SQLSTATE.

use outbox_core::StoreErrorKind;
use sea_orm::sqlx::error::DatabaseError;
use sea_orm::sqlx::postgres::PgDatabaseError;

/// The kind of a refusal and what may be shown of it.
pub(super) fn refusal(error: &dyn DatabaseError) -> Option<(StoreErrorKind, String)> {
    let error = error.try_downcast_ref::<PgDatabaseError>()?;
    Some((kind(error.code()), text(error)))
}

fn kind(code: &str) -> StoreErrorKind {
    match code {
        // A damaged page or index entry, which the other records of a call need not share.
        "XX001" | "XX002" => StoreErrorKind::Corrupt,
        // A table, column, schema, function or the database itself is not there, or a table lacks a
        // key or has columns of another type.
        "3D000" | "3F000" | "42703" | "42704" | "42804" | "42809" | "42883" | "42P01" | "42P10" => {
            StoreErrorKind::SchemaMissing
        }
        "25006" => StoreErrorKind::ReadOnly,
        "42501" => StoreErrorKind::PermissionDenied,
        // Serialization, deadlock, a lock or statement that took too long: rolled back for sure.
        "40001" | "40P01" | "55P03" | "57014" => StoreErrorKind::Conflict,
        // A transaction that idled for too long, and its connection with it.
        "25P03" | "25P04" => StoreErrorKind::Unavailable,
        _ => by_class(code),
    }
}

fn by_class(code: &str) -> StoreErrorKind {
    match code.get(..2).unwrap_or_default() {
        // No connection, an end nobody knows, no resources, shut down, trouble of the system.
        "08" | "40" | "53" | "57" | "58" => StoreErrorKind::Unavailable,
        "28" => StoreErrorKind::PermissionDenied,
        // Values, constraints, check options, sizes that depend on values, triggers that raise.
        "21" | "22" | "23" | "44" | "54" | "P0" => StoreErrorKind::Corrupt,
        // Among them statements that a pooler or a changed table made invalid: 0A000, 26000, 42P05.
        _ => StoreErrorKind::Refused,
    }
}

/// The primary message, except where it may quote a stored or bound value or the user's name.
fn text(error: &PgDatabaseError) -> String {
    let code = error.code();
    match code.get(..2).unwrap_or_default() {
        "22" | "28" | "P0" => format!("SQLSTATE {code}"),
        "23" => match error.constraint() {
            Some(constraint) => format!("constraint {constraint} (SQLSTATE {code})"),
            None => format!("SQLSTATE {code}"),
        },
        _ => format!("{} (SQLSTATE {code})", error.message()),
    }
}
