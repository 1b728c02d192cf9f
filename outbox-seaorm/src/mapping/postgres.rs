//! Rows of PostgreSQL.

use chrono::{DateTime, Utc};
use sea_orm::sqlx::postgres::{PgRow, Postgres};
use sea_orm::sqlx::{Decode, Row};
use uuid::Uuid;

use super::cells::{Cell, Cells, Unreadable};

/// PostgreSQL counts instants from the year 2000.
const EPOCH: i64 = 946_684_800_000_000;

/// Read unchecked: the schema fixes the kind of each column.
impl Cells for PgRow {
    fn small(&self, at: usize) -> Cell<i16> {
        value(self, at)
    }

    fn int(&self, at: usize) -> Cell<i32> {
        value(self, at)
    }

    fn big(&self, at: usize) -> Cell<i64> {
        value(self, at)
    }

    fn text(&self, at: usize) -> Cell<&str> {
        value(self, at)
    }

    fn bytes(&self, at: usize) -> Cell<&[u8]> {
        value(self, at)
    }

    fn uuid(&self, at: usize) -> Cell<Uuid> {
        value(self, at)
    }

    /// From the bare number: sqlx's own decoding panics on `infinity`.
    fn instant(&self, at: usize) -> Cell<DateTime<Utc>> {
        let Some(micros) = value::<i64>(self, at)? else { return Ok(None) };
        let instant = micros.checked_add(EPOCH).and_then(DateTime::from_timestamp_micros);
        instant.map(Some).ok_or(Unreadable)
    }
}

fn value<'r, T: Decode<'r, Postgres>>(row: &'r PgRow, at: usize) -> Cell<T> {
    row.try_get_unchecked::<Option<T>, _>(at).map_err(|_| Unreadable)
}
