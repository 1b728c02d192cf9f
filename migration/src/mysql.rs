//! What the catalogue of MariaDB and MySQL tells, whatever the case of names means there.

use std::fmt::Write as _;

use sea_orm_migration::sea_orm::{ConnectionTrait, DbErr, Statement};

use outbox_core::TableNames;

use crate::names::quoted;

/// The comment that tells an outbox's table from one that only has its name.
pub(crate) const COMMENT: &str = "Table of a transactional outbox (outbox-migration)";

/// Refuses names that no server takes: in these it has no characters beyond the basic plane.
pub(crate) fn check(names: &TableNames) -> Result<(), DbErr> {
    let schema = names.schema().unwrap_or_default();
    if (schema.to_owned() + names.prefix()).chars().any(|each| each > '\u{FFFF}') {
        return Err(DbErr::Migration(
            "MySQL and MariaDB take no characters above U+FFFF in names".to_owned(),
        ));
    }
    if schema.ends_with(' ') {
        return Err(DbErr::Migration(
            "MySQL and MariaDB take no schema whose name ends with a space".to_owned(),
        ));
    }
    Ok(())
}

/// Condition that a table of `information_schema.TABLES` has this name.
pub(crate) fn is_named(identifier: &str) -> String {
    same("TABLE_NAME", &literal(identifier))
}

/// Condition that it is in this database, or in the connection's own.
pub(crate) fn is_in_schema(schema: Option<&str>) -> String {
    let schema = schema.map_or_else(|| "DATABASE()".to_owned(), literal);
    // The plain comparison keeps the server from opening the tables of all databases.
    format!("TABLE_SCHEMA = {schema} AND {}", same("TABLE_SCHEMA", &schema))
}

/// Creates the database of these names where it is missing.
pub(crate) async fn ensure_schema<C: ConnectionTrait>(db: &C, schema: &str) -> Result<(), DbErr> {
    let there = same("SCHEMA_NAME", &literal(schema));
    let found = first(db, format!("SELECT 1 FROM information_schema.SCHEMATA WHERE {there}"));
    if !found.await? {
        // Another process may have made it since.
        let schema = quoted(schema, '`');
        let sql = format!("CREATE DATABASE IF NOT EXISTS {schema} CHARACTER SET utf8mb4");
        db.execute_unprepared(&sql).await?;
    }
    Ok(())
}

/// Whether there is a table of this outbox with this name.
pub(crate) async fn has_table<C: ConnectionTrait>(
    db: &C,
    names: &TableNames,
    word: &str,
) -> Result<bool, DbErr> {
    let here = is_in_schema(names.schema()) + " AND " + &is_named(&names.identifier(word));
    first(db, format!("SELECT 1 FROM information_schema.TABLES WHERE {here}")).await
}

/// The collation that compares text byte for byte, trailing spaces included.
///
/// Under any other of `utf8mb4` two keys that differ in a trailing space would be one. Each of the
/// two servers has its own.
pub(crate) async fn collation<C: ConnectionTrait>(db: &C) -> Result<&'static str, DbErr> {
    for collation in ["utf8mb4_nopad_bin", "utf8mb4_0900_bin"] {
        let known = format!(
            "SELECT 1 FROM information_schema.COLLATIONS WHERE COLLATION_NAME = '{collation}'"
        );
        if first(db, known).await? {
            return Ok(collation);
        }
    }
    Err(DbErr::Migration("the outbox needs MariaDB 10.6 or MySQL 8.0.17 at least".to_owned()))
}

async fn first<C: ConnectionTrait>(db: &C, sql: String) -> Result<bool, DbErr> {
    let row = db.query_one_raw(Statement::from_string(db.get_database_backend(), sql)).await?;
    Ok(row.is_some())
}

/// Where names keep their case it tells them apart, also where the catalogue compares without it.
fn same(column: &str, text: &str) -> String {
    format!(
        "IF(@@lower_case_table_names = 0, CAST({column} AS BINARY) = CAST({text} AS BINARY),
            LOWER({column}) = LOWER({text}))"
    )
}

/// In hexadecimal digits: what a backslash means in quotes depends on the session.
fn literal(text: &str) -> String {
    let mut literal = "_utf8mb4 X'".to_owned();
    for byte in text.bytes() {
        // Writing to a text cannot fail.
        let _ = write!(literal, "{byte:02X}");
    }
    literal + "'"
}
