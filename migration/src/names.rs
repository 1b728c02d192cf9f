//! How the migrations write the names of an outbox.

use outbox_core::TableNames;

/// Names as the statements here want them; PostgreSQL and SQLite quote alike.
pub(crate) trait SqlNames {
    /// As `CREATE INDEX` wants it: an index lives in its table's schema.
    fn unqualified(&self, object: &str) -> String;

    /// As every other statement wants it.
    fn qualified(&self, object: &str) -> String;

    /// As a text to compare with what the catalogue holds.
    fn literal(&self, object: &str) -> String;

    /// The schema as a text to compare with, if there is one.
    fn schema_literal(&self) -> Option<String>;

    /// The name under which a migration of these tables is recorded.
    ///
    /// An application may splice the migrations of several outboxes into one history, so each
    /// outbox that is not the default has its own. Schema and prefix are quoted in it, which keeps
    /// two outboxes from being recorded alike.
    fn migration(&self, fixed: &str) -> String;
}

impl SqlNames for TableNames {
    fn unqualified(&self, object: &str) -> String {
        quoted(&self.identifier(object))
    }

    fn qualified(&self, object: &str) -> String {
        self.quoted(object, '"')
    }

    fn literal(&self, object: &str) -> String {
        literal(&self.identifier(object))
    }

    fn schema_literal(&self) -> Option<String> {
        self.schema().map(literal)
    }

    fn migration(&self, fixed: &str) -> String {
        if *self == Self::default() {
            return fixed.to_owned();
        }
        format!("{fixed}@{}", self.qualified(""))
    }
}

/// An identifier that needs no further care.
pub(crate) fn quoted(identifier: &str) -> String {
    format!("\"{}\"", identifier.replace('"', "\"\""))
}

/// A text that needs no further care.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
