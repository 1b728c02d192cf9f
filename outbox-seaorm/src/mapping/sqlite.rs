//! Rows of SQLite.

use chrono::{DateTime, Utc};
use sea_orm::sqlx::sqlite::{Sqlite, SqliteRow};
use sea_orm::sqlx::{Decode, Row, Type};
use uuid::Uuid;

use super::cells::{Cell, Cells, Unreadable};

/// Read with a check of the kind: a column of SQLite takes a value of any kind.
impl Cells for SqliteRow {
    fn small(&self, at: usize) -> Cell<i16> {
        number(self, at)
    }

    fn int(&self, at: usize) -> Cell<i32> {
        number(self, at)
    }

    fn big(&self, at: usize) -> Cell<i64> {
        number(self, at)
    }

    fn text(&self, at: usize) -> Cell<&str> {
        value(self, at)
    }

    fn bytes(&self, at: usize) -> Cell<&[u8]> {
        value(self, at)
    }

    fn uuid(&self, at: usize) -> Cell<Uuid> {
        let Some(bytes) = value::<&[u8]>(self, at)? else { return Ok(None) };
        Uuid::from_slice(bytes).map(Some).map_err(|_| Unreadable)
    }

    fn instant(&self, at: usize) -> Cell<DateTime<Utc>> {
        let Some(micros) = value(self, at)? else { return Ok(None) };
        DateTime::from_timestamp_micros(micros).map(Some).ok_or(Unreadable)
    }
}

fn number<T: TryFrom<i64>>(row: &SqliteRow, at: usize) -> Cell<T> {
    let Some(number) = value::<i64>(row, at)? else { return Ok(None) };
    T::try_from(number).map(Some).map_err(|_| Unreadable)
}

fn value<'r, T: Decode<'r, Sqlite> + Type<Sqlite>>(row: &'r SqliteRow, at: usize) -> Cell<T> {
    row.try_get::<Option<T>, _>(at).map_err(|_| Unreadable)
}
