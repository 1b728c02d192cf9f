//! The tables in code are those that the migrations make.

use std::collections::BTreeSet;

use outbox_seaorm::entity::{MESSAGE, TABLES, Table};

use crate::database::{TestDatabase, rows};
use crate::on_all;

on_all!(schema: every_table_and_column_in_code_is_in_the_database_and_no_other);

async fn every_table_and_column_in_code_is_in_the_database_and_no_other(shop: TestDatabase) {
    let sql = shop.choose(
        "SELECT CAST(table_name AS char), CAST(column_name AS char)
         FROM information_schema.columns
         WHERE table_schema = database() AND table_name LIKE 'outbox_%'
             AND table_name <> 'outbox_migrations' AND extra NOT LIKE '%GENERATED%'",
        "SELECT table_name::text, column_name::text FROM information_schema.columns
         WHERE table_name LIKE 'outbox_%' AND table_name <> 'outbox_migrations'",
        "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c
         WHERE t.type = 'table' AND t.name LIKE 'outbox_%' AND t.name <> 'outbox_migrations'",
    );

    let migrated: BTreeSet<String> = rows(&shop.db, sql)
        .await
        .iter()
        .map(|row| {
            let text = |index| row.try_get_by_index::<String>(index).unwrap();
            format!("{}.{}", text(0), text(1))
        })
        .collect();

    let named = |table: &Table| {
        let word = table.word;
        table.columns().map(move |column| format!("outbox_{word}.{column}")).collect::<Vec<_>>()
    };
    let in_code: BTreeSet<String> = TABLES.iter().flat_map(named).collect();
    assert!(MESSAGE.columns().count() == 30);
    assert_eq!(in_code, migrated);
}
