//! Staging: one INSERT for all events of a call.

#[cfg(feature = "postgres")]
use std::any::TypeId;

use chrono::{DateTime, Utc};
use outbox_core::{EventId, OutboxMessage, Schedule, StagedMessage, TableNames};
use sea_orm::sea_query::{Alias, Expr, InsertStatement, IntoTableRef, Query, TableRef, Value};
use sea_orm::{ConnectionTrait, DbBackend, DbErr};
#[cfg(feature = "postgres")]
use sea_orm::{DatabaseTransaction, Statement};

use crate::entity::record::{CONTENT, joined};
#[cfg(feature = "postgres")]
use crate::proof::{self, Unproven};
use crate::settings::OutboxSettings;
use crate::statement::clock::{SQLITE_NOW, micros};
#[cfg(feature = "postgres")]
use crate::statement::unnest;
#[cfg(feature = "postgres")]
use crate::wake::Wake;

/// The columns that staging fills, in the order of [`row`]. The database fills the others.
pub(crate) const COLUMNS: [&str; 23] =
    joined(&[&["lane", "id"], CONTENT, &["size", "deliver_at", "available_at"]]);

/// Whether events can be staged on this database.
///
/// # Errors
/// [`DbErr::BackendNotSupported`] if not.
pub(crate) fn supported(backend: DbBackend) -> Result<(), DbErr> {
    Dialect::of(backend).map(drop)
}

/// What a row binds besides the texts of its message.
const ROW: usize = 160;
/// What surrounds the name and the value of a header in the stored list.
const HEADER: usize = 8;

/// Inserts the messages in their order, with as few statements as the database takes well.
///
/// Nothing is returned: what the database fills in, no writer needs.
pub(crate) async fn insert<C: ConnectionTrait>(
    db: &C,
    settings: &OutboxSettings,
    messages: &[StagedMessage],
) -> Result<(), DbErr> {
    let dialect = Dialect::of(db.get_database_backend())?;
    let tables = settings.table_names();
    let mut rest = messages;
    while !rest.is_empty() {
        let (together, behind) = rest.split_at(dialect.together(rest));
        rest = behind;
        #[cfg(feature = "postgres")]
        if dialect == Dialect::Postgres && takes_text::<C>() {
            let wake = settings.wakes() == Wake::Gated && rest.is_empty();
            db.execute_raw(on_postgres(tables, together, wake)?).await?;
            continue;
        }
        #[cfg(feature = "postgres")]
        if dialect == Dialect::Postgres
            && let Some(connection) = proof::asked_by::<C>()
        {
            prove(db, unnest::with_proof(tables, together), together, connection).await?;
            continue;
        }
        db.execute(&statement(dialect, tables, together)?).await?;
    }
    Ok(())
}

/// Role-based access control takes no statement that is written as text, so text is sent only where
/// there surely is none. Elsewhere the statement is built, and nobody is woken.
#[cfg(feature = "postgres")]
fn takes_text<C: ConnectionTrait>() -> bool {
    typeid::of::<C>() == TypeId::of::<DatabaseTransaction>()
}

/// A single message goes by its values: arrays of one cost the server more than they spare.
#[cfg(feature = "postgres")]
fn on_postgres(
    tables: &TableNames,
    messages: &[StagedMessage],
    wake: bool,
) -> Result<Statement, DbErr> {
    let insert = match messages {
        [_] => DbBackend::Postgres.build(&statement(Dialect::Postgres, tables, messages)?),
        _ => unnest::statement(tables, messages),
    };
    Ok(if wake { unnest::with_wake_up(tables, insert) } else { insert })
}

/// Inserts all of the messages, or tells that their write was no part of a transaction.
#[cfg(feature = "postgres")]
async fn prove<C: ConnectionTrait>(
    db: &C,
    statement: Statement,
    messages: &[StagedMessage],
    connection: &'static str,
) -> Result<(), DbErr> {
    let staged = db.execute_raw(statement).await?.rows_affected();
    if usize::try_from(staged).is_ok_and(|staged| staged == messages.len()) {
        Ok(())
    } else {
        Err(Unproven { connection }.into())
    }
}

fn statement(
    dialect: Dialect,
    tables: &TableNames,
    messages: &[StagedMessage],
) -> Result<InsertStatement, DbErr> {
    let mut insert = Query::insert();
    insert.into_table(table(tables)).columns(COLUMNS.map(Alias::new));
    for staged in messages {
        let row = row(dialect, staged);
        insert.values(row).map_err(|error| DbErr::Custom(error.to_string()))?;
    }
    Ok(insert)
}

/// The table that is staged into.
pub(crate) fn table(tables: &TableNames) -> TableRef {
    let message = Alias::new(tables.identifier("message"));
    match tables.schema() {
        Some(schema) => (Alias::new(schema), message).into_table_ref(),
        None => message.into_table_ref(),
    }
}

fn row(dialect: Dialect, staged: &StagedMessage) -> [Expr; COLUMNS.len()] {
    let StagedMessage { message, schedule } = staged;
    let text = |text: &str| Expr::val(text);
    let optional = |text: &Option<String>| Expr::val(text.clone());
    [
        Expr::val(i16::from(message.lane().number())),
        dialect.id(message.id),
        Expr::val(message.format.0),
        optional(&message.transport),
        text(&message.event_type),
        Expr::val(i32::from(message.event_version)),
        text(&message.topic),
        text(&message.source),
        optional(&message.subject),
        optional(&message.partition_key),
        optional(&message.ordering_key),
        text(&message.content_type),
        Expr::val(message.payload.to_vec()),
        Expr::val(headers(message)),
        optional(&message.tenant),
        optional(&message.correlation_id),
        optional(&message.causation_id),
        optional(&message.traceparent),
        optional(&message.tracestate),
        dialect.instant(message.occurred_at),
        Expr::val(size(message)),
        dialect.due(*schedule),
        dialect.due(*schedule),
    ]
}

/// Headers as they are stored.
#[expect(clippy::expect_used, reason = "writing texts to memory cannot fail")]
pub(super) fn headers(message: &OutboxMessage) -> String {
    serde_json::to_string(&message.headers).expect("pairs of texts are JSON")
}

/// The size as it is stored.
pub(super) fn size(message: &OutboxMessage) -> i32 {
    i32::try_from(message.size()).unwrap_or(i32::MAX)
}

/// How the databases differ in this statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    MySql,
    Postgres,
    Sqlite,
}

impl Dialect {
    fn of(backend: DbBackend) -> Result<Self, DbErr> {
        match backend {
            DbBackend::MySql => Ok(Self::MySql),
            DbBackend::Postgres => Ok(Self::Postgres),
            DbBackend::Sqlite => Ok(Self::Sqlite),
            other => {
                Err(DbErr::BackendNotSupported { db: other.as_str(), ctx: "staging of events" })
            }
        }
    }

    /// How many of the messages go into one statement.
    fn together(self, messages: &[StagedMessage]) -> usize {
        let mut bytes = 0;
        let fits = |staged: &&StagedMessage| {
            let headers = staged.message.headers.len() * HEADER;
            bytes += staged.message.size() + headers + ROW;
            bytes <= self.bytes()
        };
        let most = self.binds() / COLUMNS.len();
        messages.iter().take(most).take_while(fits).count().max(1)
    }

    /// How many bytes of messages one statement carries, unless a single one has more.
    ///
    /// With TLS, a statement that fills more than one record of 16 KiB waits for the other side's
    /// delayed acknowledgement: 40 milliseconds instead of less than one.
    const fn bytes(self) -> usize {
        match self {
            Self::MySql | Self::Postgres => 14 * 1024,
            Self::Sqlite => usize::MAX,
        }
    }

    /// How many values one statement may bind.
    const fn binds(self) -> usize {
        match self {
            Self::MySql | Self::Postgres => 65_535,
            Self::Sqlite => 32_766,
        }
    }

    fn id(self, id: EventId) -> Expr {
        match self {
            Self::Postgres => Expr::val(id.uuid()),
            Self::MySql | Self::Sqlite => Expr::val(id.uuid().as_bytes().to_vec()),
        }
    }

    fn instant(self, instant: DateTime<Utc>) -> Expr {
        match self {
            // Without a zone, so that the session's own has no part in it.
            Self::MySql => Expr::val(instant.naive_utc()),
            Self::Postgres => Expr::val(instant),
            Self::Sqlite => Expr::val(instant.timestamp_micros()),
        }
    }

    /// The database's clock decides about a delay. It is that of the statement's start, so that
    /// both columns of a row get the same instant, and not that of the transaction's.
    fn due(self, schedule: Schedule) -> Expr {
        let delay = match schedule {
            Schedule::Now => return self.never(),
            Schedule::At(instant) => return self.instant(instant),
            Schedule::After(delay) => micros(delay),
        };
        match self {
            Self::MySql => {
                Expr::cust_with_values("UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND", [delay])
            }
            Self::Postgres => Expr::cust_with_values(
                "statement_timestamp() + $1 * interval '1 microsecond'",
                [delay],
            ),
            Self::Sqlite => Expr::cust_with_values(format!("{SQLITE_NOW} + ?"), [delay]),
        }
    }

    /// A null of the kind of an instant.
    fn never(self) -> Expr {
        match self {
            Self::MySql => Expr::val(Value::ChronoDateTime(None)),
            Self::Postgres => Expr::val(Value::ChronoDateTimeUtc(None)),
            Self::Sqlite => Expr::val(Value::BigInt(None)),
        }
    }
}
