//! What events inherit from the work that stages them.

use outbox_seaorm::{Context, EventExt, RaisedEvents, ScopeContext, Stage, current_context};
use sea_orm::{ActiveModelTrait, TransactionTrait};

use crate::database::TestDatabase;
use crate::on_all;
use crate::shop::{ReportRequested, new_order};
use crate::staged::texts;

on_all!(context:
    a_context_of_its_own_wins,
    a_spawned_future_takes_the_context_along_by_hand,
    an_inner_scope_replaces_the_outer_one_whole,
    every_event_inherits_the_ambient_context,
    without_a_context_an_event_is_its_own_correlation,
);

fn request(id: &str) -> Context {
    Context { correlation_id: Some(id.to_owned()), ..Context::default() }
}

async fn every_event_inherits_the_ambient_context(shop: TestDatabase) {
    let mut raised = RaisedEvents::new();
    raised.raise(ReportRequested);
    let txn = shop.db.begin().await.unwrap();

    request("request-17")
        .scope(async {
            new_order(1).insert(&txn).await.unwrap();
            txn.stage(ReportRequested).await.unwrap();
            // Raised outside of the scope: what counts is where it is staged.
            txn.stage_all(raised).await.unwrap();
        })
        .await;
    txn.commit().await.unwrap();

    assert_eq!(texts(&shop.db, "correlation_id").await, ["request-17"; 3]);
}

async fn a_context_of_its_own_wins(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();

    let event = ReportRequested.with_context(request("batch-1"));
    request("request-17").scope(txn.stage(event)).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(texts(&shop.db, "correlation_id").await, ["batch-1"]);
}

async fn without_a_context_an_event_is_its_own_correlation(shop: TestDatabase) {
    let id = outbox_seaorm::EventId::new();
    let txn = shop.db.begin().await.unwrap();

    txn.stage(ReportRequested.with_id(id)).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(texts(&shop.db, "correlation_id").await, [id.to_string()]);
    assert_eq!(texts(&shop.db, "causation_id").await, ["null"]);
}

async fn an_inner_scope_replaces_the_outer_one_whole(shop: TestDatabase) {
    let outer = Context { tenant: Some("acme".into()), ..request("request-17") };
    let txn = shop.db.begin().await.unwrap();

    outer
        .scope(async {
            request("request-18").scope(txn.stage(ReportRequested)).await.unwrap();
            txn.stage(ReportRequested).await.unwrap();
        })
        .await;
    txn.commit().await.unwrap();

    assert_eq!(texts(&shop.db, "correlation_id").await, ["request-18", "request-17"]);
    assert_eq!(texts(&shop.db, "tenant").await, ["null", "acme"]);
}

async fn a_spawned_future_takes_the_context_along_by_hand(_: TestDatabase) {
    let seen = request("request-17")
        .scope(async {
            let left_behind = tokio::spawn(async { current_context() }).await.unwrap();
            let along = current_context().scope(async { current_context() });
            (left_behind, tokio::spawn(along).await.unwrap())
        })
        .await;

    assert_eq!(seen, (Context::default(), request("request-17")));
}
