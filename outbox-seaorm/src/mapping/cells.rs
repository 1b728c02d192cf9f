//! Reading single values out of a row.

use chrono::{DateTime, Utc};
use uuid::Uuid;

/// A value of another kind or out of range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unreadable;

/// A value that may be null.
pub(crate) type Cell<T> = Result<Option<T>, Unreadable>;

/// A row of a database, read by index.
///
/// Names cost a look-up per value, which is as much as the decoding itself.
pub(crate) trait Cells {
    /// A number that fits two bytes.
    fn small(&self, at: usize) -> Cell<i16>;
    /// A number that fits four bytes.
    fn int(&self, at: usize) -> Cell<i32>;
    /// A number that fits eight bytes.
    fn big(&self, at: usize) -> Cell<i64>;
    /// A text, borrowed from the row.
    fn text(&self, at: usize) -> Cell<&str>;
    /// Bytes, borrowed from the row.
    fn bytes(&self, at: usize) -> Cell<&[u8]>;
    /// A UUID.
    fn uuid(&self, at: usize) -> Cell<Uuid>;
    /// An instant in UTC.
    fn instant(&self, at: usize) -> Cell<DateTime<Utc>>;
}
