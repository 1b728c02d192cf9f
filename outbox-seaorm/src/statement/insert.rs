//! Staging: one multi-row INSERT.

use std::time::Duration;

use chrono::{DateTime, Utc};
use outbox_core::{EventId, OutboxMessage, Schedule, StagedMessage, TableNames};
use sea_orm::sea_query::{Alias, Expr, InsertStatement, IntoTableRef, Query, TableRef, Value};
use sea_orm::{ConnectionTrait, DbBackend, DbErr};

/// The columns that staging fills, in the order of [`row`]. The database fills the others.
const COLUMNS: [&str; 23] = [
    "lane",
    "id",
    "format",
    "transport",
    "event_type",
    "event_version",
    "topic",
    "source",
    "subject",
    "partition_key",
    "ordering_key",
    "content_type",
    "payload",
    "size",
    "headers",
    "tenant",
    "correlation_id",
    "causation_id",
    "traceparent",
    "tracestate",
    "occurred_at",
    "deliver_at",
    "available_at",
];

/// A longer delay than a thousand years overflows the databases' instants and means never as well.
const LONGEST_DELAY: Duration = Duration::from_hours(1000 * 365 * 24);

/// Whether events can be staged on this database.
///
/// # Errors
/// [`DbErr::BackendNotSupported`] if not.
pub(crate) fn supported(backend: DbBackend) -> Result<(), DbErr> {
    Dialect::of(backend).map(drop)
}

/// Inserts the messages in their order.
///
/// The statement is built and not written as text, because a connection under role-based access
/// control takes no text. It returns nothing: what the database fills in, no writer needs.
pub(crate) async fn insert<C: ConnectionTrait>(
    db: &C,
    tables: &TableNames,
    messages: &[StagedMessage],
) -> Result<(), DbErr> {
    let dialect = Dialect::of(db.get_database_backend())?;
    for messages in messages.chunks(dialect.binds() / COLUMNS.len()) {
        db.execute(&statement(dialect, tables, messages)?).await?;
    }
    Ok(())
}

fn statement(
    dialect: Dialect,
    tables: &TableNames,
    messages: &[StagedMessage],
) -> Result<InsertStatement, DbErr> {
    let mut insert = Query::insert();
    insert.into_table(table(tables)).columns(COLUMNS.map(Alias::new));
    for staged in messages {
        let row = row(dialect, staged)?;
        insert.values(row).map_err(|error| DbErr::Custom(error.to_string()))?;
    }
    Ok(insert)
}

fn table(tables: &TableNames) -> TableRef {
    let message = Alias::new(tables.identifier("message"));
    match tables.schema() {
        Some(schema) => (Alias::new(schema), message).into_table_ref(),
        None => message.into_table_ref(),
    }
}

fn row(dialect: Dialect, staged: &StagedMessage) -> Result<[Expr; COLUMNS.len()], DbErr> {
    let StagedMessage { message, schedule } = staged;
    let text = |text: &str| Expr::val(text);
    let optional = |text: &Option<String>| Expr::val(text.clone());
    Ok([
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
        Expr::val(i32::try_from(message.size()).unwrap_or(i32::MAX)),
        headers(message)?,
        optional(&message.tenant),
        optional(&message.correlation_id),
        optional(&message.causation_id),
        optional(&message.traceparent),
        optional(&message.tracestate),
        dialect.instant(message.occurred_at),
        dialect.due(*schedule),
        dialect.due(*schedule),
    ])
}

fn headers(message: &OutboxMessage) -> Result<Expr, DbErr> {
    let text = serde_json::to_string(&message.headers);
    text.map(Expr::val).map_err(|error| DbErr::Json(error.to_string()))
}

/// How the databases differ in this statement.
#[derive(Clone, Copy)]
enum Dialect {
    Postgres,
    Sqlite,
}

impl Dialect {
    fn of(backend: DbBackend) -> Result<Self, DbErr> {
        match backend {
            DbBackend::Postgres => Ok(Self::Postgres),
            DbBackend::Sqlite => Ok(Self::Sqlite),
            other => {
                Err(DbErr::BackendNotSupported { db: other.as_str(), ctx: "staging of events" })
            }
        }
    }

    /// How many values one statement may bind.
    const fn binds(self) -> usize {
        match self {
            Self::Postgres => 65_535,
            Self::Sqlite => 32_766,
        }
    }

    fn id(self, id: EventId) -> Expr {
        match self {
            Self::Postgres => Expr::val(id.uuid()),
            Self::Sqlite => Expr::val(id.uuid().as_bytes().to_vec()),
        }
    }

    fn instant(self, instant: DateTime<Utc>) -> Expr {
        match self {
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
            Schedule::After(delay) => micros(delay.min(LONGEST_DELAY)),
        };
        match self {
            Self::Postgres => Expr::cust_with_values(
                "statement_timestamp() + $1 * interval '1 microsecond'",
                [delay],
            ),
            Self::Sqlite => Expr::cust_with_values(
                "CAST(strftime('%s', 'now') AS INTEGER) * 1000000 \
                 + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000 + ?",
                [delay],
            ),
        }
    }

    /// A null of the kind of an instant.
    fn never(self) -> Expr {
        match self {
            Self::Postgres => Expr::val(Value::ChronoDateTimeUtc(None)),
            Self::Sqlite => Expr::val(Value::BigInt(None)),
        }
    }
}

fn micros(delay: Duration) -> i64 {
    i64::try_from(delay.as_micros()).unwrap_or(i64::MAX)
}
