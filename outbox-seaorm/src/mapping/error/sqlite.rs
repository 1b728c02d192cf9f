//! Refusals of SQLite, by result code.

use outbox_core::StoreErrorKind;
use sea_orm::sqlx::error::DatabaseError;
use sea_orm::sqlx::sqlite::SqliteError;

/// The kind of a refusal and what may be shown of it.
pub(super) fn refusal(error: &dyn DatabaseError) -> Option<(StoreErrorKind, String)> {
    let error = error.try_downcast_ref::<SqliteError>()?;
    let extended: u32 = error.code()?.parse().ok()?;
    let text = match extended {
        // The words of somebody's trigger, which may quote what is stored.
        CONSTRAINT_TRIGGER => format!("(code: {extended}) a trigger refuses"),
        _ => error.to_string(),
    };
    Some((kind(extended & 0xff, error.message()), text))
}

const CONSTRAINT_TRIGGER: u32 = 1811;

fn kind(code: u32, message: &str) -> StoreErrorKind {
    match code {
        // ERROR covers every mistake in a statement; ours can only be about the schema.
        1 if message.starts_with("no such") || message.contains("has no column") => {
            StoreErrorKind::SchemaMissing
        }
        3 | 23 => StoreErrorKind::PermissionDenied, // PERM, AUTH
        // BUSY, LOCKED; SCHEMA, which changed again and again while the statement was prepared
        5 | 6 | 17 => StoreErrorKind::Conflict,
        8 => StoreErrorKind::ReadOnly, // READONLY
        // NOMEM, INTERRUPT, IOERR, FULL, CANTOPEN, PROTOCOL
        7 | 9 | 10 | 13 | 14 | 15 => StoreErrorKind::Unavailable,
        // CORRUPT, TOOBIG, CONSTRAINT, MISMATCH, NOTADB
        11 | 18 | 19 | 20 | 26 => StoreErrorKind::Corrupt,
        _ => StoreErrorKind::Refused,
    }
}
