//! One table.

/// A table's name and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// What follows the prefix in its name.
    pub word: &'static str,
    /// Columns that every row of an event has.
    pub shared: &'static [&'static str],
    /// Columns of this table alone.
    pub own: &'static [&'static str],
}

impl Table {
    /// All columns.
    pub fn columns(&self) -> impl Iterator<Item = &'static str> {
        self.shared.iter().chain(self.own).copied()
    }
}
