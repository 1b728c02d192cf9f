//! What lies in the outbox.

use std::fmt;

use outbox_core::{OutboxEvent, OutboxMessage};
use sea_orm::sea_query::{Alias, Order, Query};
use sea_orm::{ConnectionTrait, DbErr, QueryResult};
use serde::de::DeserializeOwned;

use crate::install;
use crate::mapping::Decoder;
use crate::mapping::columns::RECORD;
use crate::statement::insert::table;

/// An event that lies in the outbox.
///
/// `Display` shows the payload. Elsewhere payloads are shown nowhere; those of a test are the
/// test's own, and what it asks about.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StagedEvent {
    /// What will be sent.
    pub message: OutboxMessage,
}

impl StagedEvent {
    /// The event, if it is one of this type: its JSON becomes one, and type and version are the
    /// same. What another codec wrote is read from the message's payload by the test.
    pub fn event<E: OutboxEvent + DeserializeOwned>(&self) -> Option<E> {
        self.read().ok()
    }

    /// The event, or why it is not one of this type.
    pub(super) fn read<E: OutboxEvent + DeserializeOwned>(&self) -> Result<E, String> {
        let content_type = &*self.message.content_type;
        if content_type != OutboxMessage::JSON {
            return Err(format!("its payload is {content_type} and not JSON"));
        }
        let event: E =
            serde_json::from_slice(&self.message.payload).map_err(|error| error.to_string())?;
        if event.event_type() == &*self.message.event_type
            && event.event_version() == self.message.event_version
        {
            Ok(event)
        } else {
            Err("its type or version is another".to_owned())
        }
    }
}

impl fmt::Display for StagedEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OutboxMessage { event_type, event_version, topic, payload, .. } = &self.message;
        write!(f, "{event_type} v{event_version}, topic {topic}")?;
        match (&self.message.partition_key, &self.message.ordering_key) {
            (Some(key), None) => write!(f, ", key {key}")?,
            (_, Some(key)) => write!(f, ", key {key}, ordered")?,
            (None, None) => {}
        }
        let payload = String::from_utf8_lossy(payload);
        let shown: String = payload.chars().take(SHOWN).collect();
        let cut = if shown.len() < payload.len() { "…" } else { "" };
        write!(f, ": {shown}{cut}")
    }
}

/// How many characters of a payload are shown.
const SHOWN: usize = 300;

/// What is staged and not sent, as this connection or transaction sees it, in the order of staging.
///
/// It reads the tables of the settings in force, and locks nothing.
///
/// # Errors
/// The database's own; [`OutboxError::NotInstalled`](crate::OutboxError::NotInstalled) without
/// settings; [`DbErr::Type`] for a row that is no event, and for a mock database, which holds none.
pub async fn staged_events(db: &impl ConnectionTrait) -> Result<Vec<StagedEvent>, DbErr> {
    let settings = install::current()?;
    let mut select = Query::select();
    select
        .columns(RECORD.map(Alias::new))
        .from(table(settings.table_names()))
        .order_by(Alias::new("position"), Order::Asc);
    let rows = db.query_all(&select).await?;

    let mut decoder = Decoder::for_rows(rows.len());
    for row in &rows {
        add(&mut decoder, row)?;
    }
    if let Some(row) = decoder.undecodable.first() {
        return Err(DbErr::Type(format!("a staged event cannot be decoded: {}", row.error)));
    }
    Ok(decoder.records.into_iter().map(|record| StagedEvent { message: record.message }).collect())
}

fn add(decoder: &mut Decoder, row: &QueryResult) -> Result<(), DbErr> {
    let before = (decoder.records.len(), decoder.undecodable.len());
    #[cfg(feature = "mysql")]
    if let Some(row) = row.try_as_mysql_row() {
        decoder.add(row, 0);
    }
    #[cfg(feature = "postgres")]
    if let Some(row) = row.try_as_pg_row() {
        decoder.add(row, 0);
    }
    #[cfg(feature = "sqlite")]
    if let Some(row) = row.try_as_sqlite_row() {
        decoder.add(row, 0);
    }
    if before == (decoder.records.len(), decoder.undecodable.len()) {
        return Err(DbErr::Type("a row of the outbox is no event of a real database".to_owned()));
    }
    Ok(())
}
