//! What can go wrong when events are staged.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use outbox_core::{EncodeError, SettingsError, TableNames};
use sea_orm::{ActiveModelTrait, DbErr, EntityName, RuntimeErr};

use crate::proof::Unproven;

/// Why no event was staged.
///
/// It travels through `SeaORM` as a [`DbErr`], into which it converts; [`OutboxError::of`] finds it
/// again. Trouble of the database that is not about the outbox's tables (a lost connection, a
/// deadlock, a serialization failure) stays the `DbErr` that it was, so that a loop that repeats
/// transactions still recognises it.
///
/// Whatever the error but [`Committed`](Self::Committed): roll the transaction back. A row that was
/// written before it is still in it, and where it is the row that the events are about, the text of
/// the [`DbErr`] says so.
///
/// What `Display` writes quotes no value of an event. What serde said about a payload is the
/// `source` of [`Encode`](Self::Encode): its own words quote none either, but an implementation of
/// `Serialize` may put one into an error that it makes up.
///
/// ```
/// use outbox_seaorm::OutboxError;
/// use sea_orm::DbErr;
///
/// let error = DbErr::from(OutboxError::NotInstalled);
/// assert!(matches!(OutboxError::of(&error), Some(OutboxError::NotInstalled)));
/// assert!(OutboxError::of(&DbErr::RecordNotUpdated).is_none());
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutboxError {
    /// The application's own reason, from [`OutboxError::aggregate`].
    #[error("the aggregate could not tell its events")]
    Aggregate(#[source] Box<dyn Error + Send + Sync>),
    /// Other settings were installed before.
    #[error(
        "other outbox settings are installed already: install once per process, and wrap work \
         for a second outbox in `scope(settings, ..)`"
    )]
    AlreadyInstalled,
    /// The old row of an update or a delete is unknown, and the aggregate's events depend on it
    /// ([`Change::before`](crate::Change::before)): two writes of one row ran at
    /// once on one transaction, or the row came into being during the update.
    #[error("the row as it was before the write is unknown, repeat the transaction")]
    BeforeUnknown,
    /// The database committed the write by itself: a connection of a type that
    /// [`prove_transaction_type`](crate::prove_transaction_type) registered was not in a
    /// transaction.
    ///
    /// Rolling back does not help any more, and repeating the write would write it twice.
    #[error(
        "{write} of `{table}` on {connection} is committed without its events: the connection was \
         not in a transaction; stage the events with `stage_all` inside of one, or undo the \
         {write}, and pass hooks a transaction"
    )]
    Committed {
        /// What was written.
        write: WriteKind,
        /// Table of the aggregate.
        table: &'static str,
        /// Type of the connection.
        connection: &'static str,
    },
    /// The event cannot be turned into a message.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The database refused the insert for a reason that it names.
    #[error("the event was not staged: {hint}")]
    Insert {
        /// What to do.
        hint: String,
        /// What the database said.
        source: DbErr,
    },
    /// Nobody said under which source and into which tables to stage.
    #[error(
        "outbox settings are missing: call `OutboxSettings::new(source).install()` once at start, \
         or wrap the work in `scope(settings, ..)`; nothing was written"
    )]
    NotInstalled,
    /// A save or delete that stages events would not run inside of a transaction.
    #[error("{write} of `{table}` on {connection} refused: {refusal}; nothing was written")]
    Refused {
        /// What was to be written.
        write: WriteKind,
        /// Table of the aggregate.
        table: &'static str,
        /// Type of the connection.
        connection: &'static str,
        /// Why, and what to do.
        refusal: Refusal,
    },
    /// Settings that cannot be used.
    #[error(transparent)]
    Settings(#[from] SettingsError),
}

impl OutboxError {
    /// An error of the application's own, for `outbox_events`.
    pub fn aggregate(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Aggregate(source.into())
    }

    /// Finds the error of the outbox in what a call of `SeaORM` returned.
    pub fn of(error: &DbErr) -> Option<&Self> {
        match error {
            DbErr::TryIntoErr { source, .. } => match source.downcast_ref::<Unstaged>() {
                Some(unstaged) => unstaged.cause.downcast_ref(),
                None => source.downcast_ref(),
            },
            _ => None,
        }
    }
}

impl From<OutboxError> for DbErr {
    fn from(error: OutboxError) -> Self {
        travelling(Arc::new(error))
    }
}

fn travelling(source: Arc<dyn Error + Send + Sync>) -> DbErr {
    DbErr::TryIntoErr { from: "event", into: "outbox record", source }
}

/// A write that has happened, inside of a transaction that is still open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    write: WriteKind,
    table: &'static str,
}

impl Written {
    pub(crate) fn of<A: ActiveModelTrait>(write: WriteKind) -> Self {
        Self { write, table: A::Entity::default().table_name() }
    }

    /// Adds to an error of the outbox that the row is written already, and whether for good.
    pub(crate) fn without_events(self, error: DbErr) -> DbErr {
        let Self { write, table } = self;
        let DbErr::TryIntoErr { source: cause, .. } = &error else { return error };
        if let Some(Unproven { connection }) = cause.downcast_ref() {
            return OutboxError::Committed { write, table, connection }.into();
        }
        if !cause.is::<OutboxError>() {
            return error;
        }
        travelling(Arc::new(Unstaged { written: self, cause: Arc::clone(cause) }))
    }
}

/// An [`OutboxError`] about the events of a row that is written already.
///
/// It speaks for its cause, whose own source is its source, so that nothing is said twice.
#[derive(Debug)]
struct Unstaged {
    written: Written,
    cause: Arc<dyn Error + Send + Sync>,
}

impl fmt::Display for Unstaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { written: Written { write, table }, cause } = self;
        write!(
            f,
            "{cause}; the {write} of `{table}` stands in this transaction without its events, \
             roll it back"
        )
    }
}

impl Error for Unstaged {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.source()
    }
}

/// A write that stages events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    /// A row is deleted.
    Delete,
    /// A row is inserted.
    Insert,
    /// A row is updated.
    Update,
}

impl fmt::Display for WriteKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Delete => "delete",
            Self::Insert => "insert",
            Self::Update => "update",
        })
    }
}

/// Why a connection is no place for a write that stages events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// Each statement commits by itself.
    Autocommit,
    /// A `DatabaseExecutor`, whose type does not say what it holds.
    Executor,
    /// A type that nobody vouched for.
    Unknown,
    /// A type whose staging carries a proof, on a database that gives none.
    Unprovable,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Autocommit => {
                "it stages events, and outside of a transaction the row and its events cannot \
                 commit together; begin one, `let txn = db.begin().await?`, and pass `&txn`"
            }
            Self::Executor => {
                "it stages events, and the type of an executor does not say whether it holds a \
                 transaction; pass the `&DatabaseTransaction` itself"
            }
            Self::Unknown => {
                "it stages events, and this type is not known to be a transaction; pass a \
                 `&DatabaseTransaction`, or call `trust_transaction_type::<T>()` once at start if \
                 `T` always is one"
            }
            Self::Unprovable => {
                "it stages events, and this database does not prove that this type is in a \
                 transaction; pass a `&DatabaseTransaction`, or call \
                 `trust_transaction_type::<T>()` once at start if `T` always is one"
            }
        })
    }
}

/// Adds what to do where the database's code tells what is wrong with the outbox's tables.
pub(crate) fn explained(error: DbErr, tables: &TableNames) -> DbErr {
    match reason(&error) {
        Some((reason, quote)) => {
            OutboxError::Insert { hint: reason.hint(tables, quote), source: error }.into()
        }
        None => error,
    }
}

enum Reason {
    Denied,
    Missing,
    Outdated,
}

impl Reason {
    fn hint(&self, tables: &TableNames, quote: char) -> String {
        let message = tables.quoted("message", quote);
        match self {
            Self::Denied if quote == '`' => {
                format!("the database user lacks a permission, GRANT INSERT ON {message} to it")
            }
            Self::Denied => {
                let position = tables.quoted("position", '"');
                format!(
                    "the database role lacks a permission, \
                     GRANT INSERT ON {message} and GRANT USAGE ON SEQUENCE {position} to it"
                )
            }
            Self::Missing => format!(
                "table {message} is missing, run the outbox's migrations under this schema and \
                 prefix"
            ),
            Self::Outdated => format!(
                "table {message} is older than this version, run the outbox's migrations first"
            ),
        }
    }
}

/// What is wrong with the tables, if that is what the error is about, and how names are quoted there.
fn reason(error: &DbErr) -> Option<(Reason, char)> {
    let (DbErr::Exec(RuntimeErr::SqlxError(error)) | DbErr::Query(RuntimeErr::SqlxError(error))) =
        error
    else {
        return None;
    };
    let error = error.as_database_error()?;
    let message = error.message();
    match error.code().as_deref() {
        // The code of a row-level policy's refusal too, which no privilege helps against.
        Some("42501") if !message.contains("row-level security") => Some((Reason::Denied, '"')),
        Some("42P01" | "3F000") => Some((Reason::Missing, '"')),
        Some("42703") => Some((Reason::Outdated, '"')),
        // MySQL and MariaDB. Their code of a denied command is that of a syntax error as well.
        Some("42000") if message.contains("command denied") => Some((Reason::Denied, '`')),
        Some("42S02") => Some((Reason::Missing, '`')),
        Some("42S22") => Some((Reason::Outdated, '`')),
        // SQLite has one code for all of these; its texts are never translated.
        Some("1") if message.starts_with("no such table") => Some((Reason::Missing, '"')),
        Some("1") if message.contains("has no column named") => Some((Reason::Outdated, '"')),
        _ => None,
    }
}
