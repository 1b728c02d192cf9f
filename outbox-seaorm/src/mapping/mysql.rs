//! Rows of MariaDB and MySQL.

use chrono::{DateTime, NaiveDateTime, Utc};
use sea_orm::sqlx::mysql::{MySql, MySqlRow};
use sea_orm::sqlx::{Decode, Row};
use uuid::Uuid;

use super::cells::{Cell, Cells, Unreadable};

/// Read unchecked: the schema fixes the kind of each column.
impl Cells for MySqlRow {
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

    /// Stored without a zone, and always in UTC.
    fn instant(&self, at: usize) -> Cell<DateTime<Utc>> {
        Ok(value::<NaiveDateTime>(self, at)?.map(|instant| instant.and_utc()))
    }
}

fn value<'r, T: Decode<'r, MySql>>(row: &'r MySqlRow, at: usize) -> Cell<T> {
    row.try_get_unchecked::<Option<T>, _>(at).map_err(|_| Unreadable)
}
