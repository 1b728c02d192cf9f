//! Events that no save stages.

use std::time::Duration;

use outbox_seaorm::{EventExt, EventId, RaisedEvents, Stage};
use sea_orm::{ConnectionTrait, DbErr, TransactionSession, TransactionTrait};

use crate::database::TestDatabase;
use crate::on_all;
use crate::shop::{OrderPlaced, ReportRequested, StockReserved, Unserializable};
use crate::staged::{texts, types};

on_all!(stage:
    a_generic_service_stages,
    an_event_staged_again_under_its_id_is_a_second_row,
    events_of_several_types_are_staged_together,
    events_of_one_type_are_staged_together,
    nothing_to_stage_sends_nothing,
    what_exceeds_one_statement_is_staged_in_order,
    one_bad_event_keeps_the_others_back,
);

async fn request<C: ConnectionTrait + TransactionSession>(txn: &C) -> Result<(), DbErr> {
    txn.stage(ReportRequested).await
}

async fn serve<T: TransactionTrait>(db: &T) -> Result<(), DbErr> {
    let txn = db.begin().await?;
    request(&txn).await?;
    txn.commit().await
}

async fn a_generic_service_stages(shop: TestDatabase) {
    serve(&shop.db).await.unwrap();

    let txn = shop.db.begin().await.unwrap();
    serve(&txn).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(types(&shop.db).await, ["reports.requested"; 2]);
}

async fn events_of_several_types_are_staged_together(shop: TestDatabase) {
    let mut raised = RaisedEvents::new();
    raised.raise(OrderPlaced { order_id: 7, total: 100 });
    raised.raise(StockReserved { sku: "A1".into(), quantity: 2 }.with_header("priority", "low"));
    raised.raise(ReportRequested.after(Duration::from_mins(1)));
    let txn = shop.db.begin().await.unwrap();

    txn.stage_all(raised.take()).await.unwrap();
    txn.commit().await.unwrap();

    assert!(raised.is_empty());
    let expected = ["orders.order_placed", "stock.reserved", "reports.requested"];
    assert_eq!(types(&shop.db).await, expected);
    assert_eq!(texts(&shop.db, "headers").await[1], r#"[["priority","low"]]"#);
    assert_eq!(shop.staged(), 1);
}

async fn events_of_one_type_are_staged_together(shop: TestDatabase) {
    let placed = |order_id| OrderPlaced { order_id, total: 100 };
    let txn = shop.db.begin().await.unwrap();

    txn.stage_all((1..=3).map(placed)).await.unwrap();
    txn.stage_all(vec![placed(4).with_header("a", "b"), placed(5).with_header("a", "c")])
        .await
        .unwrap();
    txn.commit().await.unwrap();

    assert_eq!(texts(&shop.db, "ordering_key").await, ["1", "2", "3", "4", "5"]);
}

async fn nothing_to_stage_sends_nothing(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();

    txn.stage_all(Vec::<OrderPlaced>::new()).await.unwrap();
    txn.stage_all(RaisedEvents::new()).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(shop.sent("outbox_message"), [""; 0]);
}

async fn what_exceeds_one_statement_is_staged_in_order(shop: TestDatabase) {
    let keys: Vec<String> = (0..3_000).map(|id: i32| id.to_string()).collect();
    let txn = shop.db.begin().await.unwrap();

    txn.stage_all((0..3_000).map(|order_id| OrderPlaced { order_id, total: 1 })).await.unwrap();
    txn.commit().await.unwrap();

    assert!(shop.staged() > 1);
    assert_eq!(texts(&shop.db, "ordering_key").await, keys);
}

async fn one_bad_event_keeps_the_others_back(shop: TestDatabase) {
    let mut raised = RaisedEvents::new();
    raised.raise(ReportRequested);
    raised.raise(Unserializable::new());
    let txn = shop.db.begin().await.unwrap();

    txn.stage_all(raised).await.unwrap_err();
    txn.commit().await.unwrap();

    assert_eq!(types(&shop.db).await, [""; 0]);
}

/// A caller that does not know whether its commit happened stages again.
async fn an_event_staged_again_under_its_id_is_a_second_row(shop: TestDatabase) {
    let id = EventId::new();

    for _ in 0..2 {
        let txn = shop.db.begin().await.unwrap();
        txn.stage(ReportRequested.with_id(id)).await.unwrap();
        txn.commit().await.unwrap();
    }

    let hex = id.uuid().simple().to_string().to_uppercase();
    let expected = shop.choose(hex.clone(), id.to_string(), hex);
    let ids = texts(&shop.db, if shop.is_postgres() { "id" } else { "hex(id)" }).await;
    assert_eq!(ids, [expected.clone(), expected]);
}
