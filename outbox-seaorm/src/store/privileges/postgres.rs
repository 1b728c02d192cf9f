//! What a role must be allowed on PostgreSQL.

use outbox_core::TableNames;

use super::NEEDED;

/// The statement that lists which of these privileges the session's role lacks, as they stand in a
/// `GRANT`: one row for each table.
///
/// A privilege on single columns passes, so that no role is refused that could work. A table that
/// is missing is not listed.
pub(in crate::store) fn lacking(names: &TableNames, privileges: &[&str]) -> String {
    let needed = NEEDED.iter().flat_map(|(table, all)| all.iter().map(move |it| (table, *it)));
    let rows: Vec<String> = needed
        .filter(|(_, privilege)| privileges.contains(privilege))
        .enumerate()
        .map(|(nth, (table, privilege))| {
            let stored = literal(&names.identifier(table.word));
            let shown = literal(&names.quoted(table.word, '"'));
            format!("({nth}, {stored}, {shown}, '{privilege}')")
        })
        .collect();
    let (place, schema) = place(names);
    format!(
        "{schema}(SELECT string_agg(n.privilege, ', ' ORDER BY n.nth) || ' ON ' || n.shown
FROM (VALUES {rows}) AS n (nth, stored, shown, privilege)
JOIN pg_class c ON c.relname = n.stored AND {place}
WHERE NOT CASE n.privilege
    WHEN 'DELETE' THEN has_table_privilege(c.oid, 'DELETE')
    ELSE has_any_column_privilege(c.oid, n.privilege) END
GROUP BY n.shown ORDER BY min(n.nth))",
        rows = rows.join(", "),
    )
}

/// Where the tables are, and the row about their schema if one is named. The tables are looked up
/// in the catalogue, because naming one in a schema that may not be used is an error by itself.
fn place(names: &TableNames) -> (String, String) {
    let Some(schema) = names.schema() else {
        return ("pg_table_is_visible(c.oid)".to_owned(), String::new());
    };
    let stored = literal(schema);
    let place = format!("c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = {stored})");
    let usage = format!(
        "SELECT 'USAGE ON SCHEMA ' || quote_ident(nspname) FROM pg_namespace
WHERE nspname = {stored} AND NOT has_schema_privilege(oid, 'USAGE')
UNION ALL "
    );
    (place, usage)
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
