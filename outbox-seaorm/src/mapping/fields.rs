//! Reading the columns of a record one after another.

use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use outbox_core::Headers;
use uuid::Uuid;

use super::cells::{Cell, Cells};
use super::columns::RECORD;
use super::words::Words;

/// What is wrong with a stored value, without the value.
#[derive(Debug)]
pub(crate) struct Fault {
    column: &'static str,
    wrong: &'static str,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.column, self.wrong)
    }
}

/// The columns of [`RECORD`] in their order, beginning at some index of a row.
pub(crate) struct Fields<'r, C> {
    cells: &'r C,
    first: usize,
    next: usize,
}

impl<'r, C: Cells> Fields<'r, C> {
    pub(crate) const fn new(cells: &'r C, first: usize) -> Self {
        Self { cells, first, next: 0 }
    }

    pub(crate) fn small(&mut self) -> Result<i16, Fault> {
        self.present(C::small)
    }

    pub(crate) fn int(&mut self) -> Result<i32, Fault> {
        self.present(C::int)
    }

    pub(crate) fn big(&mut self) -> Result<i64, Fault> {
        self.present(C::big)
    }

    pub(crate) fn uuid(&mut self) -> Result<Uuid, Fault> {
        self.present(C::uuid)
    }

    /// A number that is never negative, or null where that stands for nothing.
    pub(crate) fn count<T: TryFrom<i32> + Default>(&mut self) -> Result<T, Fault> {
        let number = self.value(C::int)?.unwrap_or_default();
        T::try_from(number).map_err(|_| self.fault("is out of range"))
    }

    pub(crate) fn word(&mut self, words: &mut Words) -> Result<Arc<str>, Fault> {
        let column = self.next;
        Ok(words.shared(column, self.present(C::text)?))
    }

    pub(crate) fn text(&mut self) -> Result<Option<String>, Fault> {
        Ok(self.value(C::text)?.map(str::to_owned))
    }

    pub(crate) fn bytes(&mut self) -> Result<&'r [u8], Fault> {
        self.present(C::bytes)
    }

    pub(crate) fn headers(&mut self) -> Result<Headers, Fault> {
        match self.present(C::text)? {
            "[]" => Ok(Headers::new()),
            text => {
                serde_json::from_str(text).map_err(|_| self.fault("is no JSON list of text pairs"))
            }
        }
    }

    pub(crate) fn instant(&mut self) -> Result<DateTime<Utc>, Fault> {
        self.present(C::instant)
    }

    pub(crate) fn instant_or_null(&mut self) -> Result<Option<DateTime<Utc>>, Fault> {
        self.value(C::instant)
    }

    /// The value behind the last column of a record.
    pub(crate) fn behind(&self) -> Cell<i64> {
        self.cells.big(self.first + RECORD.len())
    }

    /// Something wrong with the column that was read last.
    pub(crate) fn fault(&self, wrong: &'static str) -> Fault {
        Fault { column: RECORD[self.next - 1], wrong }
    }

    fn present<T>(&mut self, read: impl Fn(&'r C, usize) -> Cell<T>) -> Result<T, Fault> {
        self.value(read)?.ok_or_else(|| self.fault("is missing"))
    }

    fn value<T>(&mut self, read: impl Fn(&'r C, usize) -> Cell<T>) -> Result<Option<T>, Fault> {
        let at = self.first + self.next;
        self.next += 1;
        read(self.cells, at).map_err(|_| self.fault("is of another kind or out of range"))
    }
}
