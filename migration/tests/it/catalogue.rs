//! What a database says about its tables, as lines of text.

use sea_orm_migration::sea_orm::{ConnectionTrait, DbBackend};

use outbox_test_databases::texts;

/// All tables that the connection's own schema holds, in alphabetical order.
pub(crate) async fn tables(db: &impl ConnectionTrait) -> Vec<String> {
    texts(
        db,
        match db.get_database_backend() {
            DbBackend::MySql => {
                "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()
                 ORDER BY CAST(table_name AS BINARY)"
            }
            DbBackend::Postgres => {
                "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()
                 ORDER BY tablename COLLATE \"C\""
            }
            _ => {
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
                 ORDER BY name"
            }
        },
    )
    .await
}

/// Columns of one table that are not computed, in their order.
pub(crate) async fn columns(db: &impl ConnectionTrait, table: &str) -> Vec<String> {
    let sql = match db.get_database_backend() {
        DbBackend::MySql => format!(
            "SELECT column_name FROM information_schema.columns
             WHERE table_schema = DATABASE() AND table_name = '{table}'
                 AND extra NOT LIKE '%GENERATED%' ORDER BY ordinal_position"
        ),
        DbBackend::Postgres => format!(
            "SELECT attname::text FROM pg_attribute
             WHERE attrelid = '{table}'::regclass AND attnum > 0 ORDER BY attnum"
        ),
        _ => format!("SELECT name FROM pragma_table_info('{table}') ORDER BY cid"),
    };
    texts(db, &sql).await
}

/// Every column, key, check, index and option, but for the migration table, which is sea-orm's.
pub(crate) async fn describe(db: &impl ConnectionTrait) -> String {
    let queries = match db.get_database_backend() {
        DbBackend::MySql => MARIADB.as_slice(),
        DbBackend::Postgres => POSTGRES.as_slice(),
        _ => SQLITE.as_slice(),
    };
    let mut lines = Vec::new();
    for query in queries {
        lines.extend(texts(db, query).await);
    }
    lines.retain(|line| !line.contains("outbox_migrations"));
    lines.join("\n") + "\n"
}

const MARIADB: [&str; 4] = [
    "SELECT CONCAT(table_name, '.', column_name, ' ', column_type,
                   IF(is_nullable = 'NO', ' not null', ''),
                   COALESCE(CONCAT(' default ', NULLIF(column_default, 'NULL')), ''),
                   IF(extra = '', '', CONCAT(' ', extra)),
                   COALESCE(CONCAT(' ', collation_name), ''))
     FROM information_schema.columns WHERE table_schema = DATABASE()
     ORDER BY CAST(table_name AS BINARY), ordinal_position",
    "SELECT CONCAT(table_name, ': ', constraint_name, ' ', check_clause)
     FROM information_schema.check_constraints WHERE constraint_schema = DATABASE()
     ORDER BY CAST(table_name AS BINARY), constraint_name",
    "SELECT CONCAT(table_name, ': ', IF(non_unique, '', 'unique '), index_name, ' ',
                   GROUP_CONCAT(column_name ORDER BY seq_in_index SEPARATOR ', '))
     FROM information_schema.statistics WHERE table_schema = DATABASE()
     GROUP BY table_name, index_name, non_unique
     ORDER BY CAST(table_name AS BINARY), index_name",
    "SELECT CONCAT(table_name, ': ', engine, ' ', row_format, ' ', table_collation, ' ',
                   table_comment)
     FROM information_schema.tables WHERE table_schema = DATABASE()
     ORDER BY CAST(table_name AS BINARY)",
];

const POSTGRES: [&str; 5] = [
    "SELECT format('%s.%s %s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
                   CASE WHEN a.attnotnull THEN ' not null' END,
                   ' default ' || pg_get_expr(d.adbin, d.adrelid))
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
     LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
     WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
     ORDER BY c.relname COLLATE \"C\", a.attnum",
    "SELECT format('%s: %s', conrelid::regclass, pg_get_constraintdef(oid)) FROM pg_constraint
     WHERE connamespace = current_schema()::regnamespace AND contype <> 'n'
     ORDER BY conrelid::regclass::text COLLATE \"C\", pg_get_constraintdef(oid) COLLATE \"C\"",
    "SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema()
     ORDER BY indexname COLLATE \"C\"",
    "SELECT format('%s: %s', relname, reloptions) FROM pg_class
     WHERE reloptions IS NOT NULL AND relnamespace = current_schema()::regnamespace
     ORDER BY relname COLLATE \"C\"",
    "SELECT format('%s: %s from %s by %s, cache %s, cycle %s, owned by %s.%s', s.seqrelid::regclass,
                   s.seqtypid::regtype, s.seqstart, s.seqincrement, s.seqcache, s.seqcycle,
                   d.refobjid::regclass, a.attname)
     FROM pg_sequence s
     JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = s.seqrelid
                     AND d.deptype = 'a'
     JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid",
];

const SQLITE: [&str; 3] = [
    "SELECT m.name || '.' || c.name || ' ' || c.type || iif(c.\"notnull\", ' not null', '')
            || iif(c.pk, ' key ' || c.pk, '')
            || coalesce(' default ' || replace(c.dflt_value, char(10), ' '), '')
     FROM sqlite_master m JOIN pragma_table_info(m.name) c
     WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY m.name, c.cid",
    "SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY name",
    // Checks and table options have no pragma, so each line that may hold one is shown.
    "SELECT m.name || ': ' || trim(l.value) FROM sqlite_master m
     JOIN json_each('[' || replace(json_quote(m.sql), '\\n', '\",\"') || ']') l
     WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'
       AND (l.value LIKE '%CHECK (%' OR l.value LIKE '%AUTOINCREMENT%' OR l.value LIKE ')%')
     ORDER BY m.name, l.key",
];
