//! Staging on PostgreSQL: one text for any number of events, and what an insert does besides.

use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use outbox_core::{OutboxMessage, Schedule, StagedMessage, TableNames};
use sea_orm::sea_query::Value;
use sea_orm::{DbBackend, Statement};

use super::clock::micros;
use super::insert::{COLUMNS, headers, size};
use crate::wake::channel;

/// How one of [`COLUMNS`] is bound: the type of its array, the value that stands for null, and the
/// values.
///
/// The driver binds no null inside of an array.
struct Bound(&'static str, Option<&'static str>, fn(&[StagedMessage]) -> Value);

const EMPTY: Option<&str> = Some("''");

/// In the order of [`COLUMNS`], but for the last two.
const BOUND: [Bound; COLUMNS.len() - 2] = [
    Bound("smallint", None, |all| each(all, |message| i16::from(message.lane().number()))),
    Bound("uuid", None, |all| each(all, |message| message.id.uuid())),
    Bound("smallint", None, |all| each(all, |message| message.format.0)),
    Bound("text", EMPTY, |all| optional(all, |message| &message.transport)),
    Bound("text", None, |all| text(all, |message| &message.event_type)),
    Bound("integer", None, |all| each(all, |message| i32::from(message.event_version))),
    Bound("text", None, |all| text(all, |message| &message.topic)),
    Bound("text", None, |all| text(all, |message| &message.source)),
    Bound("text", EMPTY, |all| optional(all, |message| &message.subject)),
    Bound("text", EMPTY, |all| optional(all, |message| &message.partition_key)),
    Bound("text", EMPTY, |all| optional(all, |message| &message.ordering_key)),
    Bound("text", None, |all| text(all, |message| &message.content_type)),
    Bound("bytea", None, |all| each(all, |message| message.payload.to_vec())),
    Bound("text", None, |all| each(all, headers)),
    Bound("text", EMPTY, |all| optional(all, |message| &message.tenant)),
    Bound("text", EMPTY, |all| optional(all, |message| &message.correlation_id)),
    Bound("text", EMPTY, |all| optional(all, |message| &message.causation_id)),
    Bound("text", EMPTY, |all| optional(all, |message| &message.traceparent)),
    Bound("text", EMPTY, |all| optional(all, |message| &message.tracestate)),
    Bound("timestamptz", None, |all| each(all, |message| message.occurred_at)),
    Bound("integer", None, |all| each(all, size)),
];

/// The instant that stands for none: no event has one of that year. Midnight of 1 January of year 1.
const NEVER: DateTime<Utc> = DateTime::from_timestamp(-62_135_596_800, 0).unwrap();

/// Inserts the messages in their order.
pub(super) fn statement(tables: &TableNames, messages: &[StagedMessage]) -> Statement {
    bound(insert(tables, ""), messages)
}

/// Inserts the messages in their order, or none of them unless its transaction has written before.
///
/// The condition does not give the transaction an id, so that it says of each message what it says
/// of the first.
pub(super) fn with_proof(tables: &TableNames, messages: &[StagedMessage]) -> Statement {
    bound(insert(tables, "WHERE pg_current_xact_id_if_assigned() IS NOT NULL "), messages)
}

/// An insert that wakes the worker as well, at the commit, unless another open transaction will.
///
/// PostgreSQL commits notifying transactions one after another. The lock lets one through at a time,
/// so that the others still share their flushes.
pub(super) fn with_wake_up(tables: &TableNames, insert: Statement) -> Statement {
    let channel = channel(tables);
    let sql = format!(
        "WITH staged AS ({})
SELECT pg_notify({channel}, '') WHERE pg_try_advisory_xact_lock(hashtextextended({channel}, 0))",
        insert.sql
    );
    Statement { sql, ..insert }
}

fn bound(sql: String, messages: &[StagedMessage]) -> Statement {
    let mut values: Vec<Value> = BOUND.iter().map(|bound| (bound.2)(messages)).collect();
    values.extend(due(messages));
    Statement::from_sql_and_values(DbBackend::Postgres, sql, values)
}

fn insert(tables: &TableNames, condition: &str) -> String {
    let table = tables.quoted("message", '"');
    let (mut names, mut chosen, mut arrays) = (String::new(), String::new(), String::new());
    for ((name, Bound(kind, null, _)), place) in COLUMNS.iter().zip(&BOUND).zip(1..) {
        _ = write!(names, "{name}, ");
        _ = match null {
            Some(null) => write!(chosen, "nullif(e.{name}, {null}), "),
            None => write!(chosen, "e.{name}, "),
        };
        _ = write!(arrays, "${place}::{kind}[], ");
    }
    let (at, delay) = (BOUND.len() + 1, BOUND.len() + 2);
    format!(
        "INSERT INTO {table} ({names}deliver_at, available_at)
SELECT {chosen}due, due FROM (
    SELECT *, coalesce(
        nullif(at, '0001-01-01 00:00:00+00'::timestamptz),
        statement_timestamp() + nullif(delay, -1) * interval '1 microsecond'
    ) AS due
    FROM unnest({arrays}${at}::timestamptz[], ${delay}::bigint[])
        WITH ORDINALITY AS e ({names}at, delay, place)
) e {condition}ORDER BY place"
    )
}

/// The delivery time, given as an instant or as a delay from the statement's start.
///
/// The database's clock decides about a delay. It is that of the statement, not that of the
/// transaction, which may be open for long.
fn due(messages: &[StagedMessage]) -> [Value; 2] {
    let at = messages.iter().map(|staged| match staged.schedule {
        Schedule::At(instant) => instant,
        Schedule::After(_) | Schedule::Now => NEVER,
    });
    let delay = messages.iter().map(|staged| match staged.schedule {
        Schedule::After(delay) => micros(delay),
        Schedule::At(_) | Schedule::Now => -1,
    });
    [at.collect::<Vec<_>>().into(), delay.collect::<Vec<_>>().into()]
}

fn each<T>(messages: &[StagedMessage], field: impl Fn(&OutboxMessage) -> T) -> Value
where
    Value: From<Vec<T>>,
{
    messages.iter().map(|staged| field(&staged.message)).collect::<Vec<T>>().into()
}

fn text(messages: &[StagedMessage], field: impl Fn(&OutboxMessage) -> &str) -> Value {
    each(messages, |message| field(message).to_owned())
}

fn optional(
    messages: &[StagedMessage],
    field: impl Fn(&OutboxMessage) -> &Option<String>,
) -> Value {
    each(messages, |message| field(message).clone().unwrap_or_default())
}
