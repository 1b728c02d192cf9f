//! How the tables of one outbox are named.

use crate::settings::SettingsError;

/// Longest identifier that every supported database takes whole, in bytes.
///
/// PostgreSQL cuts a longer one silently, so that two outboxes could share a table.
const IDENTIFIER: usize = 63;
/// Longest word that is put behind the prefix: that of an index.
const LONGEST_WORD: usize = 24;

/// Schema and prefix of the tables of one outbox.
///
/// The defaults are the connection's own schema and the prefix `outbox_`. Names are always quoted
/// and case-sensitive, except on SQLite and on MariaDB and MySQL servers that fold the names of
/// tables (`lower_case_table_names`): outboxes that differ in capitals alone would be one there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableNames {
    schema: Option<String>,
    prefix: String,
}

impl Default for TableNames {
    fn default() -> Self {
        Self { schema: None, prefix: "outbox_".to_owned() }
    }
}

impl TableNames {
    /// Tables in this schema, or in the connection's own, with this prefix.
    ///
    /// # Errors
    /// [`SettingsError`] if a name would be empty, too long for a database, or holds a NUL.
    pub fn new(schema: Option<&str>, prefix: &str) -> Result<Self, SettingsError> {
        let legal = |name: &str, longest: usize| name.len() <= longest && !name.contains('\0');
        if schema.is_some_and(|schema| schema.is_empty() || !legal(schema, IDENTIFIER)) {
            return Err(SettingsError::new("schema", "1 to 63 bytes without NUL"));
        }
        if !legal(prefix, IDENTIFIER - LONGEST_WORD) {
            return Err(SettingsError::new("prefix", "at most 39 bytes without NUL"));
        }
        Ok(Self { schema: schema.map(str::to_owned), prefix: prefix.to_owned() })
    }

    /// The schema, if one was named.
    pub fn schema(&self) -> Option<&str> {
        self.schema.as_deref()
    }

    /// What every name begins with.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The name of a table, sequence or index, as the database stores it.
    pub fn identifier(&self, word: &str) -> String {
        format!("{}{word}", self.prefix)
    }

    /// The qualified name, quoted with this quote, ready for a statement.
    pub fn quoted(&self, word: &str, quote: char) -> String {
        let name = quoted(&self.identifier(word), quote);
        match &self.schema {
            Some(schema) => format!("{}.{name}", quoted(schema, quote)),
            None => name,
        }
    }
}

fn quoted(identifier: &str, quote: char) -> String {
    let doubled = String::from_iter([quote, quote]);
    format!("{quote}{}{quote}", identifier.replace(quote, &doubled))
}
