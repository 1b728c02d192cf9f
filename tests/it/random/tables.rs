//! The tables of the database.

use chrono::{DateTime, Utc};
use outbox_core::{
    ClaimToken, EventId, Format, Lane, LaneLease, LeaseToken, OutboxMessage, OutboxRecord,
    Position, RecordRef, WorkerId,
};
use outbox_testing::HeldRecord;
use sea_orm::{ConnectionTrait, DbErr, QueryResult, Statement};

use super::compare::Difference;
use super::contents::{claimed, ending, held, line, parked_key};
use super::database::Outbox;
use super::names::Names;

/// The tables of the database, in the words of the reference.
pub(super) struct Tables<'t> {
    pub(super) outbox: &'t Outbox,
    pub(super) names: &'t mut Names,
    pub(super) now: DateTime<Utc>,
}

impl Tables<'_> {
    /// What is stored, as the reference tells it.
    pub(super) async fn lines(&mut self) -> Result<Vec<String>, Difference> {
        let mut lines = Vec::new();
        for (name, table) in [("pending", "message"), ("dead", "dead_letter"), ("parked", "parked")]
        {
            for row in self.rows(&self.records(table)).await {
                lines.push(self.record(name, &row)?);
            }
        }
        let sql = "SELECT topic, ordering_key, dead_id, dead_lane, dead_position
            FROM outbox_parked_key";
        let mut keys: Vec<String> =
            self.rows(sql).await.iter().map(|row| self.parked_key(row).unwrap()).collect();
        keys.sort();
        lines.extend(keys);
        let until = self.micros("expires_at");
        let sql = format!(
            "SELECT lane, token, owner, {until} FROM outbox_lane WHERE token IS NOT NULL ORDER BY lane"
        );
        let leased = self.rows(&sql).await;
        lines.extend(leased.iter().filter_map(|row| self.lane(row).unwrap()));
        let sql = format!(
            "SELECT message_id, lane, position, token, owner, {until} FROM outbox_claim
            ORDER BY lane, position"
        );
        lines.extend(self.rows(&sql).await.iter().map(|row| self.claim(row).unwrap()));
        Ok(lines)
    }

    async fn rows(&self, sql: &str) -> Vec<QueryResult> {
        let db = &self.outbox.application;
        db.query_all_raw(Statement::from_string(db.get_database_backend(), sql)).await.unwrap()
    }

    fn records(&self, table: &str) -> String {
        let instants = ["occurred_at", "deliver_at", "available_at", "first_failed_at"];
        let instants = instants.map(|instant| self.micros(instant)).join(", ");
        let end = match table {
            "dead_letter" => format!("reason, {}", self.micros("died_at")),
            _ => "NULL, NULL".to_owned(),
        };
        format!(
            "SELECT lane, position, id, payload, event_type, topic, source, content_type, format,
    event_version, headers, transport, subject, partition_key, ordering_key, tenant,
    correlation_id, causation_id, traceparent, tracestate, {instants}, attempts, replays,
    revision, last_error, size, {end}
FROM outbox_{table} ORDER BY position"
        )
    }

    /// An instant in microseconds.
    fn micros(&self, column: &str) -> String {
        if self.outbox.is_postgres() {
            format!("(extract(epoch FROM {column}) * 1000000)::bigint")
        } else if self.outbox.is_mariadb() {
            format!("TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {column})")
        } else {
            column.to_owned()
        }
    }

    fn record(&mut self, name: &str, row: &QueryResult) -> Result<String, Difference> {
        let stored = stored(row).unwrap();
        let mut record = stored.record;
        let message = &mut record.message;
        record.reference = self.names.record(record.reference, &message.payload)?;
        for instant in
            [&mut message.deliver_at, &mut record.available_at, &mut record.first_failed_at]
        {
            *instant = instant.map(|instant| self.outbox.instant(instant, self.now));
        }
        let end = stored.end.map(|(reason, at)| ending(&reason, self.outbox.instant(at, self.now)));
        Ok(line(name, &record, stored.size, &end.unwrap_or_default()))
    }

    fn parked_key(&self, row: &QueryResult) -> Result<String, DbErr> {
        let topic: String = row.try_get_by_index(0)?;
        let key: String = row.try_get_by_index(1)?;
        let dead = self.names.reference(reference(row, 2, 3, 4)?);
        Ok(parked_key(&topic, &key, dead))
    }

    /// The lane, if its lease is live.
    fn lane(&self, row: &QueryResult) -> Result<Option<String>, DbErr> {
        let token = LeaseToken::from_uuid(row.try_get_by_index(1)?).unwrap();
        let owner = WorkerId::from_uuid(row.try_get_by_index(2)?).unwrap();
        let until = self.outbox.instant(instant(row, 3)?.unwrap(), self.now);
        let lane = Lane::try_from(row.try_get_by_index::<i16>(0)?).unwrap();
        let lease = self.names.lease(LaneLease { lane, token });
        Ok((until > self.now).then(|| held(lease, owner, until)))
    }

    /// The claim, live or not: one that is over has its effect too.
    fn claim(&self, row: &QueryResult) -> Result<String, DbErr> {
        let record = self.names.reference(reference(row, 0, 1, 2)?);
        let token = self.names.claim(ClaimToken::from_uuid(row.try_get_by_index(3)?).unwrap());
        let owner = WorkerId::from_uuid(row.try_get_by_index(4)?).unwrap();
        let expires_at = self.outbox.instant(instant(row, 5)?.unwrap(), self.now);
        Ok(claimed(&HeldRecord { record, token, owner, expires_at }))
    }
}

/// A row of one of the tables of records.
struct Stored {
    record: OutboxRecord,
    size: usize,
    /// Of a dead letter, why and when.
    end: Option<(String, DateTime<Utc>)>,
}

fn stored(row: &QueryResult) -> Result<Stored, DbErr> {
    let number = |at: usize| row.try_get_by_index::<i32>(at);
    let mut record = OutboxRecord::new(reference(row, 2, 0, 1)?, message(row)?);
    record.available_at = instant(row, 22)?;
    record.first_failed_at = instant(row, 23)?;
    record.attempts = number(24)?.try_into().unwrap();
    record.revision = number(26)?;
    record.last_error = row.try_get_by_index(27)?;
    let reason: Option<String> = row.try_get_by_index(29)?;
    let end = reason.zip(instant(row, 30)?);
    Ok(Stored { record, size: number(28)?.try_into().unwrap(), end })
}

fn message(row: &QueryResult) -> Result<OutboxMessage, DbErr> {
    let id = EventId::from_uuid(row.try_get_by_index(2)?).unwrap();
    let payload: Vec<u8> = row.try_get_by_index(3)?;
    let text = |at: usize| row.try_get_by_index::<String>(at);
    let optional = |at: usize| row.try_get_by_index::<Option<String>>(at);
    let number = |at: usize| row.try_get_by_index::<i32>(at);
    let mut message = OutboxMessage::new(id, text(4)?, text(5)?, text(6)?, payload.into());
    message.content_type = text(7)?.into();
    message.format = Format(row.try_get_by_index(8)?);
    message.event_version = number(9)?.try_into().unwrap();
    // Without what makes a row undecodable.
    message.headers = serde_json::from_str(text(10)?.trim_start_matches('{')).unwrap();
    message.transport = optional(11)?;
    message.subject = optional(12)?;
    message.partition_key = optional(13)?;
    message.ordering_key = optional(14)?;
    message.tenant = optional(15)?;
    message.correlation_id = optional(16)?;
    message.causation_id = optional(17)?;
    message.traceparent = optional(18)?;
    message.tracestate = optional(19)?;
    message.occurred_at = instant(row, 20)?.unwrap();
    message.deliver_at = instant(row, 21)?;
    message.replays = number(25)?.try_into().unwrap();
    Ok(message)
}

fn reference(row: &QueryResult, id: usize, lane: usize, at: usize) -> Result<RecordRef, DbErr> {
    Ok(RecordRef {
        id: EventId::from_uuid(row.try_get_by_index(id)?).unwrap(),
        lane: Lane::try_from(row.try_get_by_index::<i16>(lane)?).unwrap(),
        position: Position(row.try_get_by_index(at)?),
    })
}

fn instant(row: &QueryResult, at: usize) -> Result<Option<DateTime<Utc>>, DbErr> {
    let micros: Option<i64> = row.try_get_by_index(at)?;
    Ok(micros.map(|micros| DateTime::from_timestamp_micros(micros).unwrap()))
}
