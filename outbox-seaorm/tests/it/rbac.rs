//! Staging under `SeaORM`'s role-based access control, which lets no SQL text through.

use outbox_seaorm::{Emit, OutboxError, Refusal, Stage};
use sea_orm::rbac::{RbacContext, RbacUserId, schema};
use sea_orm::{ActiveModelTrait, DbErr, RestrictedConnection, Set, TransactionTrait};

use crate::database::{TestDatabase, count};
use crate::on_all;
use crate::shop::{ReportRequested, StockReserved, known, new_order, new_stock};
use crate::staged::types;

on_all!(rbac:
    a_restricted_connection_is_refused_before_any_write,
    a_role_that_may_insert_into_the_outbox_stages,
    a_role_that_may_not_insert_into_the_outbox_writes_nothing,
);

/// May write orders and stock, and insert into the outbox.
const CLERK: RbacUserId = RbacUserId(1);
/// May write orders and stock.
const INTERN: RbacUserId = RbacUserId(2);

async fn under_access_control(shop: &TestDatabase, user: RbacUserId) -> RestrictedConnection {
    let db = &shop.db;
    schema::create_tables(db, schema::RbacCreateTablesParams::default()).await.unwrap();
    let mut rbac = RbacContext::load(db).await.unwrap();
    rbac.add_tables(db, &["orders", "outbox_message", "stock"]).await.unwrap();
    rbac.add_crud_permissions(db).await.unwrap();
    rbac.add_roles(db, &["clerk", "intern"]).await.unwrap();
    rbac.assign_user_role(db, &[(CLERK.0, "clerk"), (INTERN.0, "intern")]).await.unwrap();
    let crud = ["delete", "insert", "select", "update"];
    for role in ["clerk", "intern"] {
        rbac.add_role_permissions(db, role, &crud, &["orders", "stock"]).await.unwrap();
    }
    rbac.add_role_permissions(db, "clerk", &["insert"], &["outbox_message"]).await.unwrap();
    db.load_rbac().await.unwrap();
    db.restricted_for(user).unwrap()
}

async fn a_role_that_may_insert_into_the_outbox_stages(shop: TestDatabase) {
    let db = under_access_control(&shop, CLERK).await;
    let reserved = |sku: &str| StockReserved { sku: sku.to_owned(), quantity: 1 };

    let txn = db.begin().await.unwrap();
    let placed = new_order(100).insert(&txn).await.unwrap();
    let mut change = known(&placed);
    change.total = Set(80);
    let placed = change.update(&txn).await.unwrap();
    known(&placed).delete(&txn).await.unwrap();
    new_stock("A1", 2).emit_with(|saved| reserved(&saved.sku)).insert(&txn).await.unwrap();
    let savepoint = txn.begin().await.unwrap();
    savepoint.stage(ReportRequested).await.unwrap();
    savepoint.commit().await.unwrap();
    txn.commit().await.unwrap();

    let expected = [
        "orders.order_placed",
        "orders.repriced",
        "orders.cancelled",
        "stock.reserved",
        "reports.requested",
    ];
    assert_eq!(types(&shop.db).await, expected);
}

async fn a_restricted_connection_is_refused_before_any_write(shop: TestDatabase) {
    let db = under_access_control(&shop, CLERK).await;

    let error = new_order(100).insert(&db).await.unwrap_err();

    let refused = OutboxError::of(&error);
    assert!(
        matches!(refused, Some(OutboxError::Refused { refusal: Refusal::Autocommit, .. })),
        "{error}"
    );
    assert_eq!(count(&shop.db, "orders").await, 0);
}

async fn a_role_that_may_not_insert_into_the_outbox_writes_nothing(shop: TestDatabase) {
    let db = under_access_control(&shop, INTERN).await;
    let txn = db.begin().await.unwrap();

    let error = new_order(100).insert(&txn).await.unwrap_err();
    txn.rollback().await.unwrap();

    let DbErr::AccessDenied { permission, resource } = &error else { panic!("{error}") };
    assert_eq!((permission.as_str(), resource.as_str()), ("insert", "outbox_message"));
    assert_eq!(types(&shop.db).await, [""; 0]);
    assert_eq!(count(&shop.db, "orders").await, 0);
}
