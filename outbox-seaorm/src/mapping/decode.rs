//! Records out of rows.

use bytes::Bytes;
use outbox_core::{
    EventId, Format, KeyRef, Lane, OutboxMessage, OutboxRecord, Position, RecordRef, UndecodableRow,
};

use super::cells::Cells;
use super::columns::RECORD;
use super::fields::{Fault, Fields};
use super::time::duration;
use super::words::Words;

/// Turns the rows of one read into records.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    words: Words,
    /// What could be decoded.
    pub(crate) records: Vec<OutboxRecord>,
    /// What could not.
    pub(crate) undecodable: Vec<UndecodableRow>,
}

impl Decoder {
    /// A decoder for about so many rows.
    pub(crate) fn for_rows(rows: usize) -> Self {
        Self { records: Vec::with_capacity(rows), ..Self::default() }
    }

    /// Takes a row whose columns of a record begin at `first`.
    ///
    /// A row that no outcome could name is left alone, with a warning.
    pub(crate) fn add<C: Cells>(&mut self, row: &C, first: usize) {
        let mut fields = Fields::new(row, first);
        let (reference, revision) = match name(&mut fields) {
            Ok(name) => name,
            Err(fault) => {
                tracing::warn!(%fault, "a stored record cannot be named: it is left alone");
                return;
            }
        };
        match record(&mut fields, reference, revision, &mut self.words) {
            Ok(record) => self.records.push(record),
            Err(fault) => {
                let (key, error) = (key(row, first), fault.to_string());
                self.undecodable.push(UndecodableRow { reference, revision, key, error });
            }
        }
    }
}

fn name<C: Cells>(fields: &mut Fields<'_, C>) -> Result<(RecordRef, i32), Fault> {
    let lane = fields.small()?;
    let lane = Lane::try_from(lane).map_err(|_| fields.fault("is no lane"))?;
    let position = Position(fields.big()?);
    let id = fields.uuid()?;
    let id = EventId::from_uuid(id).map_err(|_| fields.fault("is the nil UUID"))?;
    Ok((RecordRef { id, lane, position }, fields.int()?))
}

/// Key of a row that cannot be decoded as a whole, if these two columns can be.
fn key<C: Cells>(row: &C, first: usize) -> Option<KeyRef> {
    let text = |name: &str| {
        let column = RECORD.iter().position(|column| *column == name)?;
        row.text(first + column).ok()?
    };
    Some(KeyRef { topic: text("topic")?.into(), key: text("ordering_key")?.to_owned() })
}

fn record<C: Cells>(
    fields: &mut Fields<'_, C>,
    reference: RecordRef,
    revision: i32,
    words: &mut Words,
) -> Result<OutboxRecord, Fault> {
    let message = message(fields, reference.id, words)?;
    let mut record = OutboxRecord::new(reference, message);
    record.revision = revision;
    record.available_at = fields.instant_or_null()?;
    if record.available_at.is_some() {
        record.attempts = fields.count()?;
        record.first_failed_at = fields.instant_or_null()?;
        record.last_error = fields.text()?;
        // Computed by the database beside the record's own columns; null if it never failed.
        record.failing_for = duration(fields.behind().unwrap_or_default().unwrap_or_default());
    }
    Ok(record)
}

fn message<C: Cells>(
    fields: &mut Fields<'_, C>,
    id: EventId,
    words: &mut Words,
) -> Result<OutboxMessage, Fault> {
    let format = Format(fields.small()?);
    if format.0 < 1 {
        return Err(fields.fault("is unknown"));
    }
    let transport = fields.text()?;
    let event_type = fields.word(words)?;
    let event_version = fields.count()?;
    let topic = fields.word(words)?;
    let source = fields.word(words)?;
    let mut message = OutboxMessage::new(id, event_type, topic, source, Bytes::new());
    message.format = format;
    message.transport = transport;
    message.event_version = event_version;
    message.subject = fields.text()?;
    message.partition_key = fields.text()?;
    message.ordering_key = fields.text()?;
    message.content_type = fields.word(words)?;
    message.payload = Bytes::copy_from_slice(fields.bytes()?);
    message.headers = fields.headers()?;
    message.tenant = fields.text()?;
    message.correlation_id = fields.text()?;
    message.causation_id = fields.text()?;
    message.traceparent = fields.text()?;
    message.tracestate = fields.text()?;
    message.occurred_at = fields.instant()?;
    message.deliver_at = fields.instant_or_null()?;
    message.replays = fields.count()?;
    Ok(message)
}
