//! A full outbox on PostgreSQL: what its hot statements cost, and by which plans.

use sea_orm::{ConnectionTrait, DbBackend, Statement};

use crate::database::{TestDatabase, on_postgres};
use crate::store_acquired::{ALL_WAITING, ask, schedule};
use crate::store_hot::{Hot, MILLION, assert_bounded};

#[tokio::test]
async fn no_hot_statement_walks_or_sorts_a_million_records_on_postgres() {
    on_postgres(|database| async move {
        let hot = Hot::open(&database).await;
        keep_plans(&hot).await;
        hot.round().await;
        hot.fill(MILLION).await;
        hot.sent();

        assert_bounded(&hot.round().await, "plans that were made while the tables were empty");
        let statements = hot.sent();
        hot.run("DISCARD PLANS").await;
        assert_bounded(&hot.round().await, "plans of full tables of which nothing is known");
        assert_narrow(&database, &statements, 15).await;
        // Which makes the server plan anew.
        hot.run("ANALYZE").await;
        assert_bounded(&hot.round().await, "plans for any values, of full tables");
        assert_narrow(&database, &statements, 15).await;
        hot.run("SET plan_cache_mode = force_custom_plan").await;
        assert_bounded(&hot.round().await, "plans for the values of the call, of full tables");
    })
    .await;
}

#[tokio::test]
async fn no_read_past_paused_topics_walks_or_sorts_the_others_on_postgres() {
    on_postgres(|database| async move {
        let hot = Hot::open(&database).await;
        keep_plans(&hot).await;
        hot.past().await;
        hot.fill(MILLION).await;
        hot.pause().await;
        hot.sent();

        assert_bounded(&hot.past().await, "plans that were made while the tables were empty");
        let statements = hot.sent();
        hot.run("DISCARD PLANS").await;
        assert_bounded(&hot.past().await, "plans of full tables of which nothing is known");
        assert_narrow(&database, &statements, 6).await;
        hot.run("ANALYZE").await;
        assert_bounded(&hot.past().await, "plans for any values, of full tables");
        assert_narrow(&database, &statements, 6).await;
        hot.run("SET plan_cache_mode = force_custom_plan").await;
        assert_bounded(&hot.past().await, "plans for the values of the call, of full tables");
    })
    .await;
}

#[tokio::test]
async fn a_new_owner_reads_only_what_waits_among_a_million_that_are_scheduled_on_postgres() {
    on_postgres(|database| async move {
        let hot = Hot::open(&database).await;
        keep_plans(&hot).await;
        ask(&hot, 0).await;
        schedule(&hot).await;
        hot.sent();

        let of_empty = "a plan that was made while the table was empty";
        assert_bounded(&ask(&hot, ALL_WAITING).await, of_empty);
        let statements = hot.sent();
        hot.run("DISCARD PLANS").await;
        assert_bounded(
            &ask(&hot, ALL_WAITING).await,
            "a plan of a table of which nothing is known",
        );
        assert_narrow(&database, &statements, 1).await;
        hot.run("ANALYZE").await;
        assert_bounded(&ask(&hot, ALL_WAITING).await, "a plan for any lanes, of a full table");
        assert_narrow(&database, &statements, 1).await;
        hot.run("SET plan_cache_mode = force_custom_plan").await;
        assert_bounded(&ask(&hot, ALL_WAITING).await, "a plan for all lanes, of a full table");
    })
    .await;
}

/// Lets the session make one plan of each statement, at its first call, and nothing renew it.
async fn keep_plans(hot: &Hot) {
    hot.run("SET plan_cache_mode = force_generic_plan").await;
    for table in ["dead_letter", "lane", "message", "parked", "parked_key", "worker"] {
        hot.run(&format!("ALTER TABLE outbox_{table} SET (autovacuum_enabled = off)")).await;
    }
}

/// Every visit to the table of messages is to some rows of one lane, as they come from an index.
async fn assert_narrow(database: &TestDatabase, statements: &[String], least: usize) {
    let mut visits = 0;
    for sql in statements {
        let plan = kept_plan(database, sql).await;
        for at in (0..plan.len()).filter(|at| plan[*at].contains(" on outbox_message")) {
            let changes = ["Delete on", "Insert on", "Update on"];
            if changes.iter().any(|change| plan[at].contains(change)) {
                continue;
            }
            visits += 1;
            let parent = parent(&plan, at);
            let narrow = is_narrow(&plan[at], &plan[at + 1], parent);
            assert!(narrow && !parent.contains("Sort"), "{}\nin\n{}", plan[at], plan.join("\n"));
        }
    }
    assert!(visits >= least, "{visits} in {statements:#?}");
}

fn is_narrow(visit: &str, by: &str, parent: &str) -> bool {
    let limited = parent.contains("Limit");
    let of_lane = by.contains("lane = ");
    let places = ["\"position\"", "available_at"].iter().any(|column| by.contains(column));
    // Of an index that holds no others, whether it is walked or looked up at once.
    let failed = visit.contains("outbox_message_failed ")
        || by.contains("Recheck") && by.contains("attempts > 0");
    // Counting looks at the first rows that there are, and at those that wait.
    let counts = visit.contains("Seq Scan") && limited && !by.contains("Filter");
    by.contains("TID Cond")
        || visit.contains("outbox_message_due ")
        || failed
        || counts
        || of_lane && (places || limited)
}

/// The step that a step of a plan gives its rows to.
fn parent(plan: &[String], at: usize) -> &str {
    let depth = |line: &str| line.find("->").unwrap_or(0);
    let above = plan[..at].iter().rev().find(|line| {
        (line.contains("->") || !line.starts_with(' ')) && depth(line) < depth(&plan[at])
    });
    above.map_or("", String::as_str)
}

/// The plan that is kept for a statement, whatever its values.
async fn kept_plan(database: &TestDatabase, sql: &str) -> Vec<String> {
    let db = database.pool(1).await;
    let values = (1..).take_while(|nth| sql.contains(&format!("${nth}"))).map(|_| "NULL");
    let values = values.collect::<Vec<_>>().join(", ");
    for step in [
        "SET plan_cache_mode = force_generic_plan".to_owned(),
        "SET jit = off".to_owned(),
        format!("PREPARE kept AS {sql}"),
    ] {
        db.execute_unprepared(&step).await.unwrap();
    }
    let values = if values.is_empty() { values } else { format!("({values})") };
    let explain = format!("EXPLAIN EXECUTE kept{values}");
    let rows =
        db.query_all_raw(Statement::from_string(DbBackend::Postgres, explain)).await.unwrap();
    rows.iter().map(|row| row.try_get_by_index(0).unwrap()).collect()
}
