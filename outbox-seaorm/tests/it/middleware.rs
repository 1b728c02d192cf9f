//! Requests whose transaction a middleware begins and ends.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::http::{Request, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::routing::post;
use axum_sea_orm_tx::{Tx, test_transaction, transaction};
use outbox_seaorm::{Emit, Stage};
use sea_orm::{ActiveModelTrait, DatabaseTransaction, DbErr, TransactionTrait};
use tower::ServiceExt;

use crate::database::{TestDatabase, count};
use crate::on_all;
use crate::shop::{ReportRequested, new_order, new_stock};
use crate::staged::types;

on_all!(middleware:
    a_request_that_fails_rolls_row_and_event_back,
    a_request_that_succeeds_commits_row_and_event,
    requests_within_the_transaction_of_a_test_stage_into_it,
);

/// Every form of staging, through what the middleware hands out; the answer is the path's.
async fn place(Path(answer): Path<u16>, tx: Tx) -> StatusCode {
    match all_forms(&tx).await {
        Ok(()) => StatusCode::from_u16(answer).unwrap(),
        Err(error) => panic!("{error}"),
    }
}

async fn all_forms(tx: &DatabaseTransaction) -> Result<(), DbErr> {
    new_order(1).insert(tx).await?;
    new_stock("A1", 1).emit(ReportRequested).insert(tx).await?;
    tx.stage(ReportRequested).await
}

const ALL: [&str; 3] = ["orders.order_placed", "reports.requested", "reports.requested"];

fn routes() -> Router {
    Router::new().route("/{answer}", post(place))
}

async fn answer(app: &Router, answer: u16) -> u16 {
    let request = Request::post(format!("/{answer}")).body(Body::empty()).unwrap();
    app.clone().oneshot(request).await.unwrap().status().as_u16()
}

async fn a_request_that_succeeds_commits_row_and_event(shop: TestDatabase) {
    let app = routes().layer(from_fn_with_state(shop.pool(1).await, transaction));

    let status = answer(&app, 201).await;

    assert_eq!(status, 201);
    assert_eq!(types(&shop.db).await, ALL);
    assert_eq!(count(&shop.db, "orders").await, 1);
}

async fn a_request_that_fails_rolls_row_and_event_back(shop: TestDatabase) {
    let app = routes().layer(from_fn_with_state(shop.pool(1).await, transaction));

    let status = answer(&app, 409).await;

    assert_eq!(status, 409);
    assert_eq!(types(&shop.db).await, [""; 0]);
    assert_eq!(count(&shop.db, "orders").await, 0);
}

/// Each request is a savepoint there.
async fn requests_within_the_transaction_of_a_test_stage_into_it(shop: TestDatabase) {
    let txn = Arc::new(shop.pool(1).await.begin().await.unwrap());
    let app = routes().layer(from_fn_with_state(Arc::clone(&txn), test_transaction));

    let answers = [answer(&app, 201).await, answer(&app, 500).await];

    assert_eq!(answers, [201, 500]);
    assert_eq!(types(&*txn).await, ALL);
    drop(app);
    Arc::into_inner(txn).unwrap().rollback().await.unwrap();
    assert_eq!(types(&shop.db).await, [""; 0]);
}
