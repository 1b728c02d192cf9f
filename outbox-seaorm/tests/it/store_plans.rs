//! Plans that PostgreSQL keeps: made while the table is empty, they must be good when it is full.

use std::time::Duration;

use outbox_core::{Failure, FailureKind, OutboxStore, OutcomeKind};
use sea_orm::{ConnectionTrait, DbBackend, Statement};

use crate::database::on_postgres;
use crate::store_fixture::{Outbox, outcome, published};

/// The plan that is kept for a statement, whatever its values.
async fn kept_plan(outbox: &Outbox, sql: &str) -> Vec<String> {
    let db = outbox.database.pool(1).await;
    let values = (1..).take_while(|nth| sql.contains(&format!("${nth}"))).map(|_| "NULL");
    let values = values.collect::<Vec<_>>().join(", ");
    for step in [
        "SET plan_cache_mode = force_generic_plan".to_owned(),
        "SET jit = off".to_owned(),
        format!("PREPARE kept AS {sql}"),
    ] {
        db.execute_unprepared(&step).await.unwrap();
    }
    let explain = format!("EXPLAIN EXECUTE kept({values})");
    let rows =
        db.query_all_raw(Statement::from_string(DbBackend::Postgres, explain)).await.unwrap();
    rows.iter().map(|row| row.try_get_by_index(0).unwrap()).collect()
}

/// Every visit to the table of messages is to some rows of one lane.
fn assert_narrow(plan: &[String]) {
    let mut visits = 0;
    for (at, line) in
        plan.iter().enumerate().filter(|(_, line)| line.contains(" on outbox_message"))
    {
        if ["Delete on", "Update on"].iter().any(|change| line.contains(change)) {
            continue;
        }
        visits += 1;
        let by = &plan[at + 1];
        let narrow = by.contains("TID Cond")
            || (by.contains("lane = ")
                && (by.contains("\"position\"") || by.contains("available_at")));
        assert!(narrow, "{line}\n{by}\nin\n{}", plan.join("\n"));
    }
    assert!(visits > 0, "{}", plan.join("\n"));
}

#[tokio::test]
async fn a_read_visits_some_rows_of_each_lane() {
    on_postgres(|database| async move {
        let outbox = Outbox::new(database);
        outbox.database.sent("");
        outbox.read(&[0, 1]).await;
        let [sql] = &outbox.database.sent("outbox_message")[..] else { panic!("one statement") };

        let plan = kept_plan(&outbox, sql).await;

        assert_narrow(&plan);
    })
    .await;
}

#[tokio::test]
async fn an_owner_who_asks_for_claims_visits_the_records_that_are_claimed() {
    on_postgres(|database| async move {
        let outbox = Outbox::new(database);
        let leases = outbox.lease(2).await;
        outbox.database.sent("");
        outbox.store.acquired(&leases).await.unwrap();
        let [sql] = &outbox.database.sent("outbox_claim")[..] else { panic!("one statement") };

        let plan = kept_plan(&outbox, sql).await;

        assert_narrow(&plan);
    })
    .await;
}

#[tokio::test]
async fn a_settlement_visits_the_records_that_it_is_about() {
    on_postgres(|database| async move {
        let outbox = Outbox::new(database);
        let leases = outbox.lease(1).await;
        let records = outbox.fill(0, 2).await;
        let failure = Failure::new(FailureKind::Transient, "no route");
        let failed = OutcomeKind::Failed { failure, delay: Duration::ZERO };
        outbox.database.sent("");
        outbox.settle(&published(&leases[0], &records[..1])).await;
        outbox.settle(&[outcome(&leases[0], records[1], failed)]).await;
        let statements = outbox.database.sent("outbox_message");
        assert_eq!(statements.len(), 2);
        outbox.run("TRUNCATE outbox_message").await;

        for sql in statements {
            assert_narrow(&kept_plan(&outbox, &sql).await);
        }
    })
    .await;
}
