//! Plans of SQLite, which are the same whatever the tables hold.

use crate::database::{on_sqlite, rows};
use crate::store_hot::Hot;

#[tokio::test]
async fn no_hot_statement_walks_the_records_on_sqlite() {
    on_sqlite(|database| async move {
        let hot = Hot::open(&database).await;
        hot.fill(10_000).await;
        hot.sent();
        hot.round().await;
        let statements = hot.sent();

        let mut visits = 0;
        // Counting looks at the first rows that there are.
        for sql in statements.iter().filter(|sql| !sql.contains("count(*)")) {
            for step in rows(&hot.db, &format!("EXPLAIN QUERY PLAN {sql}")).await {
                let step: String = step.try_get("", "detail").unwrap();
                let visit = ["SCAN m", "SEARCH m", "SCAN outbox_message", "SEARCH outbox_message"];
                if visit.iter().any(|visit| step.split(" USING").next() == Some(visit)) {
                    visits += 1;
                    let narrow = ["(rowid=?)", "lane=?"].iter().any(|by| step.contains(by));
                    assert!(narrow, "{step}: {sql}");
                }
            }
        }
        assert!(visits > 8, "{visits} in {statements:#?}");
    })
    .await;
}
