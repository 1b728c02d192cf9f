//! What kind of trouble a database's error is.

#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::fmt;

use outbox_core::{StoreError, StoreErrorKind};
use sea_orm::sqlx::Error as SqlxError;
use sea_orm::sqlx::error::DatabaseError;
use sea_orm::{DbErr, RuntimeErr};

#[cfg(feature = "mysql")]
pub(crate) use mysql::is_deadlock;

/// What the database said, without any value that was bound or stored.
#[derive(Debug)]
pub(crate) struct Cause(pub(crate) String);

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Cause {}

/// Maps the error of one operation.
pub(crate) fn failed(operation: &'static str) -> impl Fn(DbErr) -> StoreError {
    move |error| match &error {
        DbErr::Conn(RuntimeErr::SqlxError(error))
        | DbErr::Exec(RuntimeErr::SqlxError(error))
        | DbErr::Query(RuntimeErr::SqlxError(error)) => from_sqlx(operation, error),
        DbErr::ConnectionAcquire(_) | DbErr::Conn(_) => {
            because(StoreErrorKind::Unavailable, operation, error.to_string())
        }
        DbErr::Type(_) | DbErr::TryIntoErr { .. } | DbErr::Json(_) => unreadable(operation),
        // What is left is about the caller's use of SeaORM and quotes no value.
        _ => because(StoreErrorKind::InvalidArgument, operation, error.to_string()),
    }
}

/// Maps an error of the driver.
pub(crate) fn from_sqlx(operation: &'static str, error: &SqlxError) -> StoreError {
    match error {
        SqlxError::Database(refusal) => refused(operation, refusal.as_ref()),
        SqlxError::Configuration(_) => {
            // Its text may quote the URL, and with it a password.
            StoreError::new(StoreErrorKind::InvalidArgument, operation)
        }
        SqlxError::ColumnDecode { .. }
        | SqlxError::ColumnIndexOutOfBounds { .. }
        | SqlxError::ColumnNotFound(_)
        | SqlxError::Decode(_)
        | SqlxError::RowNotFound
        | SqlxError::TypeNotFound { .. } => unreadable(operation),
        SqlxError::Encode(_) | SqlxError::InvalidArgument(_) => {
            StoreError::new(StoreErrorKind::InvalidArgument, operation)
        }
        _ => because(StoreErrorKind::Unavailable, operation, error.to_string()),
    }
}

/// An answer that is not what the statement asks for.
pub(crate) fn unreadable(operation: &'static str) -> StoreError {
    because(StoreErrorKind::Corrupt, operation, "the answer has another form".to_owned())
}

fn refused(operation: &'static str, refusal: &dyn DatabaseError) -> StoreError {
    #[cfg(feature = "mysql")]
    if let Some(error) = mysql::refusal(operation, refusal) {
        return error;
    }
    #[cfg(feature = "postgres")]
    if let Some((kind, cause)) = postgres::refusal(refusal) {
        return because(kind, operation, cause);
    }
    #[cfg(feature = "sqlite")]
    if let Some((kind, cause)) = sqlite::refusal(refusal) {
        return because(kind, operation, cause);
    }
    because(StoreErrorKind::Refused, operation, "an unknown refusal".to_owned())
}

fn because(kind: StoreErrorKind, operation: &'static str, cause: String) -> StoreError {
    StoreError::new(kind, operation).with_source(Cause(cause))
}
