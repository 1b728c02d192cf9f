//! The test kit on a mock database.

use outbox_seaorm::testing::{LoggedEvent, MockStaging, logged_events, staged_events};
use outbox_seaorm::{OutboxError, OutboxSettings, Stage, TableNames, scope};
use sea_orm::{
    ActiveModelTrait, DatabaseConnection, DbBackend, DbErr, MockDatabase, MockExecResult, Set,
    TransactionTrait,
};

use crate::shop::{ReportRequested, StockReserved, known, new_order, order};

const BACKENDS: [DbBackend; 2] = [DbBackend::Postgres, DbBackend::Sqlite];

fn row(total: i64) -> order::Model {
    order::Model { id: 7, total, note: None }
}

/// What a save of SeaORM takes of the mock: rows come back with the write, or in a query after it.
fn answer_save(mock: MockDatabase, backend: DbBackend, saved: order::Model) -> MockDatabase {
    let mock = mock.append_query_results([[saved]]);
    if backend.support_returning() {
        return mock;
    }
    mock.append_exec_results([MockExecResult { last_insert_id: 7, rows_affected: 1 }])
}

async fn under_settings<F: Future>(test: F) -> F::Output {
    scope(OutboxSettings::new("https://shop.example/orders"), test).await
}

fn logged(db: DatabaseConnection) -> Vec<LoggedEvent> {
    logged_events(&db.into_transaction_log()).unwrap()
}

fn types(events: &[LoggedEvent]) -> Vec<&str> {
    events.iter().map(|event| event.event_type.as_str()).collect()
}

#[tokio::test]
async fn each_staging_of_a_hook_takes_one_answer() {
    for backend in BACKENDS {
        let deleted = MockExecResult { last_insert_id: 0, rows_affected: 1 };
        let mock = answer_save(MockDatabase::new(backend), backend, row(5_000)).append_staging(2);
        let mock = answer_save(mock, backend, row(80)).append_staging(1);
        // On SQLite an empty write comes before the read of the row.
        let empty = (backend == DbBackend::Sqlite).then(MockExecResult::default);
        let mock = mock.append_exec_results(empty.into_iter().chain([deleted]));
        let mock = mock.append_query_results([[row(80)]]);
        let db = mock.append_staging(1).into_connection();

        under_settings(async {
            let txn = db.begin().await.unwrap();
            let placed = new_order(5_000).insert(&txn).await.unwrap();
            let mut change = known(&placed);
            change.total = Set(80);
            let repriced = change.update(&txn).await.unwrap();
            known(&repriced).delete(&txn).await.unwrap();
            txn.commit().await.unwrap();

            let logged = logged(db);
            assert_eq!(
                types(&logged),
                ["orders.order_placed", "reports.requested", "orders.repriced", "orders.cancelled"]
            );
            let LoggedEvent { topic, key, payload, .. } = &logged[2];
            assert_eq!((topic.as_str(), key.as_deref()), ("orders", Some("7")));
            assert_eq!(payload, r#"{"kind":"Repriced","order_id":7,"total":80}"#);
            assert_eq!(logged[1].key, None);
        })
        .await;
    }
}

#[tokio::test]
async fn staging_by_hand_takes_one_answer() {
    for backend in BACKENDS {
        let db = MockDatabase::new(backend).append_staging(2).into_connection();
        let stock = |sku: &str| StockReserved { sku: sku.to_owned(), quantity: 1 };

        under_settings(async {
            let txn = db.begin().await.unwrap();
            txn.stage_all([stock("A1"), stock("B2")]).await.unwrap();
            txn.commit().await.unwrap();

            let keys: Vec<_> = logged(db).into_iter().filter_map(|event| event.key).collect();
            assert_eq!(keys, ["A1", "B2"]);
        })
        .await;
    }
}

#[tokio::test]
async fn without_the_answer_the_staging_fails() {
    for backend in BACKENDS {
        let db = MockDatabase::new(backend).into_connection();

        let txn = db.begin().await.unwrap();
        let error = under_settings(txn.stage(ReportRequested)).await.unwrap_err();

        assert!(matches!(error, DbErr::Exec(_)), "{error}");
    }
}

#[tokio::test]
async fn a_statement_that_stages_is_known_by_the_tables_in_force() {
    for (backend, schema) in [(DbBackend::Postgres, Some("Mail")), (DbBackend::Sqlite, None)] {
        let db = MockDatabase::new(backend).append_staging(1).append_staging(1).into_connection();
        let tables = TableNames::new(schema, "Second_").unwrap();
        let second = OutboxSettings::new("urn:shop:second").tables(tables);

        under_settings(async {
            let txn = db.begin().await.unwrap();
            txn.stage(ReportRequested).await.unwrap();
            let stock = StockReserved { sku: "A1".into(), quantity: 1 };
            scope(second.clone(), txn.stage(stock)).await.unwrap();
            txn.commit().await.unwrap();

            let log = db.into_transaction_log();
            assert_eq!(types(&logged_events(&log).unwrap()), ["reports.requested"]);
            let other = scope(second, async { logged_events(&log).unwrap() }).await;
            assert_eq!(types(&other), ["stock.reserved"]);
        })
        .await;
    }
}

#[tokio::test]
async fn a_log_cannot_be_read_without_settings() {
    assert!(matches!(logged_events(&[]), Err(OutboxError::NotInstalled)));
}

#[tokio::test]
async fn a_mock_database_holds_no_events() {
    let db = MockDatabase::new(DbBackend::Sqlite).append_query_results([[row(1)]]);
    let db = db.into_connection();

    let error = under_settings(staged_events(&db)).await.unwrap_err();

    assert!(error.to_string().contains("no event of a real database"), "{error}");
}
