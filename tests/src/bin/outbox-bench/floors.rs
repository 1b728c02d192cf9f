//! Raw sqlx on one connection: what the database gives without an outbox around it.

use sea_orm::sqlx::postgres::PgRow;
use sea_orm::sqlx::{self, AssertSqlSafe, PgPool, Row};

use crate::Done;

/// Columns of a message, as a worker must read them.
const COLUMNS: &str = "lane, position, id, format, event_type, event_version, topic, source, \
    subject, partition_key, ordering_key, content_type, payload, headers, tenant, correlation_id, \
    causation_id, traceparent, tracestate, occurred_at, available_at, attempts, first_failed_at, \
    last_error";

fn positions(rows: &[PgRow]) -> Done<Vec<i64>> {
    Ok(rows.iter().map(|row| row.try_get("position")).collect::<Result<_, _>>()?)
}

/// A cursor over one lane: read 500, delete 500, no fence, no decoding.
pub(crate) async fn cursor(pool: &PgPool) -> Done<u64> {
    let read = format!(
        "SELECT {COLUMNS} FROM outbox_message WHERE lane = 0 AND position > $1 \
         ORDER BY position LIMIT 500"
    );
    let mut connection = pool.acquire().await?;
    let (mut last, mut drained) = (0_i64, 0);
    loop {
        let rows = sqlx::query(AssertSqlSafe(read.as_str()))
            .bind(last)
            .fetch_all(&mut *connection)
            .await?;
        let positions = positions(&rows)?;
        let Some(end) = positions.last() else { return Ok(drained) };
        last = *end;
        drained += positions.len() as u64;
        sqlx::query("DELETE FROM outbox_message WHERE lane = 0 AND position = ANY($1)")
            .bind(positions)
            .execute(&mut *connection)
            .await?;
    }
}

/// The textbook: claim 500 rows with an update, delete them when sent.
pub(crate) async fn row_claim(pool: &PgPool) -> Done<u64> {
    let columns: Vec<String> = COLUMNS.split(',').map(|c| format!("m.{}", c.trim())).collect();
    let claim = format!(
        "WITH free AS (SELECT position FROM bench_row \
         WHERE available_at IS NULL OR available_at <= now() \
         ORDER BY position LIMIT 500 FOR UPDATE SKIP LOCKED) \
         UPDATE bench_row m SET available_at = now() + interval '60 s', attempts = m.attempts + 1 \
         FROM free WHERE m.position = free.position RETURNING {}",
        columns.join(", ")
    );
    let mut connection = pool.acquire().await?;
    let mut drained = 0;
    loop {
        let rows = sqlx::query(AssertSqlSafe(claim.as_str())).fetch_all(&mut *connection).await?;
        let positions = positions(&rows)?;
        if positions.is_empty() {
            return Ok(drained);
        }
        drained += positions.len() as u64;
        sqlx::query("DELETE FROM bench_row WHERE position = ANY($1)")
            .bind(positions)
            .execute(&mut *connection)
            .await?;
    }
}
