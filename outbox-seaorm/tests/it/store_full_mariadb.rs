//! A full outbox on MariaDB: what its hot statements cost, and by which plans.

use sea_orm::DatabaseConnection;

use crate::database::{on_mariadb, rows};
use crate::store_acquired::{ALL_WAITING, ask, schedule};
use crate::store_hot::{Hot, MILLION, assert_bounded};

#[tokio::test]
async fn no_hot_statement_walks_or_sorts_a_million_records_on_mariadb() {
    on_mariadb(|database| async move {
        let hot = Hot::open(&database).await;
        keep_statistics(&hot).await;
        hot.round().await;
        hot.fill(MILLION).await;
        hot.sent();

        assert_bounded(&hot.round().await, "statistics of an empty table");
        let statements = hot.sent();
        assert_narrow(&hot.db, &statements, 100).await;

        hot.run("ANALYZE TABLE outbox_message").await;
        assert_bounded(&hot.round().await, "statistics of a full table");
        assert_narrow(&hot.db, &statements, 100).await;
    })
    .await;
}

#[tokio::test]
async fn no_read_past_paused_topics_walks_or_sorts_the_others_on_mariadb() {
    on_mariadb(|database| async move {
        let hot = Hot::open(&database).await;
        keep_statistics(&hot).await;
        hot.past().await;
        hot.fill(MILLION).await;
        hot.pause().await;
        hot.sent();

        assert_bounded(&hot.past().await, "statistics of an empty table");
        let statements = hot.sent();
        assert_narrow(&hot.db, &statements, 100).await;

        hot.run("ANALYZE TABLE outbox_message").await;
        assert_bounded(&hot.past().await, "statistics of a full table");
        assert_narrow(&hot.db, &statements, 100).await;
    })
    .await;
}

#[tokio::test]
async fn a_new_owner_reads_only_what_waits_among_a_million_that_are_scheduled_on_mariadb() {
    on_mariadb(|database| async move {
        let hot = Hot::open(&database).await;
        keep_statistics(&hot).await;
        ask(&hot, 0).await;
        schedule(&hot).await;
        hot.sent();

        assert_bounded(&ask(&hot, ALL_WAITING).await, "statistics of an empty table");
        let statements = hot.sent();
        assert_narrow(&hot.db, &statements, 1).await;

        hot.run("ANALYZE TABLE outbox_message").await;
        assert_bounded(&ask(&hot, ALL_WAITING).await, "statistics of a full table");
        assert_narrow(&hot.db, &statements, 1).await;
    })
    .await;
}

/// Plans are made from statistics, which stay those of an empty table.
async fn keep_statistics(hot: &Hot) {
    hot.run("ALTER TABLE outbox_message STATS_PERSISTENT = 1 STATS_AUTO_RECALC = 0").await;
    hot.run("ANALYZE TABLE outbox_message").await;
}

/// Every visit to the table of messages is to some rows, as they come from an index.
async fn assert_narrow(db: &DatabaseConnection, statements: &[String], least: usize) {
    let mut visits = 0;
    // Staging visits none; counting looks at the first rows that there are.
    let visiting = statements.iter().filter(|sql| !sql.starts_with("INSERT INTO `outbox_message`"));
    for sql in visiting.filter(|sql| !sql.contains("COUNT(*)")) {
        for [table, access, key, extra] in plan(db, &bound(sql)).await {
            if table != "m" {
                continue;
            }
            visits += 1;
            let narrow = match key.as_str() {
                "PRIMARY" => access == "eq_ref",
                "outbox_message_due" | "outbox_message_failed" => {
                    ["range", "ref"].contains(&access.as_str())
                }
                _ => false,
            };
            assert!(narrow && !extra.contains("filesort"), "{access} {key} {extra}: {sql}");
        }
    }
    assert!(visits >= least, "{visits} in {statements:#?}");
}

/// The tables in the order in which they are read, the key that finds their rows, and how.
async fn plan(db: &DatabaseConnection, sql: &str) -> Vec<[String; 4]> {
    let row = |row: &sea_orm::QueryResult| {
        ["table", "type", "key", "Extra"]
            .map(|column| row.try_get::<Option<String>>("", column).unwrap().unwrap_or_default())
    };
    rows(db, &format!("EXPLAIN {sql}")).await.iter().map(row).collect()
}

/// A statement with its values in it, each the same number, which no plan here depends on.
fn bound(sql: &str) -> String {
    sql.replace("JSON_TABLE(?,", "JSON_TABLE('[]',").replace('?', "1")
}
