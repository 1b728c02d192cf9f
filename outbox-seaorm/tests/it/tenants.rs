//! Several outboxes in one process.

use std::sync::Arc;

use outbox_seaorm::{OutboxSettings, Stage, TableNames, scope};
use sea_orm::{ActiveModelTrait, DatabaseConnection, TransactionTrait};
use tokio::sync::Barrier;

use crate::database::{TestDatabase, count, on_postgres};
use crate::on_all;
use crate::shop::{OrderPlaced, ReportRequested, create_tables, new_order};
use crate::staged::texts;

on_all!(tenants:
    a_spawned_future_takes_its_settings_along_by_hand,
    futures_on_one_thread_keep_their_settings_apart,
    two_databases_are_staged_into_by_turns,
);

/// Places orders in transactions that are all open while the other one is at work.
async fn place(db: &DatabaseConnection, turns: &Barrier) {
    for total in 1..=3 {
        let txn = db.begin().await.unwrap();
        turns.wait().await;
        new_order(total).insert(&txn).await.unwrap();
        turns.wait().await;
        txn.stage(ReportRequested).await.unwrap();
        turns.wait().await;
        txn.commit().await.unwrap();
    }
}

/// One of them has its own prefix, so that an event on its way to the wrong place finds no table.
async fn two_databases_are_staged_into_by_turns(shop: TestDatabase) {
    let lent = outbox_test_databases::lend_sqlite();
    let other = lent.connect_with(1).await;
    create_tables(&other).await;
    let tables = TableNames::new(None, "other_").unwrap();
    outbox_migration::migrate_with(&other, &tables).await.unwrap();
    let first = OutboxSettings::new("urn:first");
    let second = OutboxSettings::new("urn:second").tables(tables);
    let turns = Barrier::new(2);

    tokio::join!(scope(first, place(&shop.db, &turns)), scope(second, place(&other, &turns)),);

    assert_eq!(texts(&shop.db, "source").await, ["urn:first"; 6]);
    assert_eq!(count(&other, "other_message WHERE source = 'urn:second'").await, 6);
    assert_eq!(count(&shop.db, "orders").await + count(&other, "orders").await, 6);
}

#[tokio::test]
async fn two_tenants_schemas_on_postgres_are_staged_into_by_turns() {
    on_postgres(|shop| async move {
        let mut tenants = Vec::new();
        for name in ["Tenant-A", "tenant \"b\""] {
            let tables = TableNames::new(Some(name), "outbox_").unwrap();
            outbox_migration::migrate_with(&shop.db, &tables).await.unwrap();
            tenants.push(tables);
        }
        let settings = |tenant: usize| {
            OutboxSettings::new(format!("urn:{tenant}")).tables(tenants[tenant].clone())
        };
        let turns = Barrier::new(2);

        tokio::join!(
            scope(settings(0), place(&shop.db, &turns)),
            scope(settings(1), place(&shop.db, &turns)),
        );

        for (tenant, tables) in tenants.iter().enumerate() {
            let message = tables.quoted("message", '"');
            assert_eq!(count(&shop.db, &message).await, 6);
            let own = format!("{message} WHERE source = 'urn:{tenant}'");
            assert_eq!(count(&shop.db, &own).await, 6);
        }
        assert_eq!(count(&shop.db, "outbox_message").await, 0);
    })
    .await;
}

/// As tests in one process do, or requests of several tenants.
async fn futures_on_one_thread_keep_their_settings_apart(shop: TestDatabase) {
    let barrier = Arc::new(Barrier::new(8));
    let staged = (0..8).map(|tenant| {
        let (db, barrier) = (shop.db.clone(), Arc::clone(&barrier));
        tokio::spawn(scope(OutboxSettings::new(format!("urn:{tenant}")), async move {
            barrier.wait().await;
            for _ in 0..5 {
                let txn = db.begin().await.unwrap();
                txn.stage(OrderPlaced { order_id: tenant, total: 1 }).await.unwrap();
                tokio::task::yield_now().await;
                txn.commit().await.unwrap();
            }
        }))
    });

    for staged in staged.collect::<Vec<_>>() {
        staged.await.unwrap();
    }

    let own: Vec<String> =
        texts(&shop.db, "ordering_key").await.iter().map(|key| format!("urn:{key}")).collect();
    assert_eq!(texts(&shop.db, "source").await, own);
    assert_eq!(own.len(), 40);
}

/// What happens without is shown in `staging_without_settings_names_the_call`.
async fn a_spawned_future_takes_its_settings_along_by_hand(shop: TestDatabase) {
    let settings = OutboxSettings::new("urn:spawned");
    let db = shop.db.clone();

    let spawning = scope(settings.clone(), async move {
        tokio::spawn(scope(settings, async move {
            let txn = db.begin().await?;
            new_order(1).insert(&txn).await?;
            txn.commit().await
        }))
        .await
    });
    spawning.await.unwrap().unwrap();

    assert_eq!(texts(&shop.db, "source").await, ["urn:spawned"]);
}
