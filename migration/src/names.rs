//! How the migrations write the names of an outbox.

use outbox_core::TableNames;

/// Names as the statements here want them.
pub(crate) trait SqlNames {
    /// As `CREATE INDEX` wants it: an index lives in its table's schema.
    fn unqualified(&self, object: &str, quote: char) -> String;

    /// As every other statement wants it on PostgreSQL and SQLite, which quote alike.
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
    fn unqualified(&self, object: &str, quote: char) -> String {
        quoted(&self.identifier(object), quote)
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
pub(crate) fn quoted(identifier: &str, quote: char) -> String {
    let doubled = String::from_iter([quote, quote]);
    format!("{quote}{}{quote}", identifier.replace(quote, &doubled))
}

/// A text that needs no further care on PostgreSQL and SQLite.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
