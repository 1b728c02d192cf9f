//! SQLite: a write that must read first waits for its turn, and what it reads stays.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use outbox_seaorm::Emit;
use sea_orm::{
    ActiveModelTrait, ConnectionTrait, Database, DatabaseConnection, IntoActiveModel,
    TransactionTrait,
};

use crate::database::{TestDatabase, count, on_sqlite};
use crate::shop::{ReportRequested, known, new_order, new_stock};
use crate::staged::types;

/// Another process that writes if it can do so at once; whether it could.
fn rival_writes(url: &str) -> bool {
    let write = async {
        let db = Database::connect(url).await.unwrap();
        db.execute_unprepared("PRAGMA busy_timeout = 0").await.unwrap();
        let written = db.execute_unprepared("INSERT INTO stock (sku, quantity) VALUES ('r', 1)");
        let written = written.await.is_ok();
        db.close().await.unwrap();
        written
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(write)
}

/// A pool on which a rival tries to write right after the first read of this table.
async fn with_rival(shop: &TestDatabase, table: &str) -> (DatabaseConnection, Arc<AtomicUsize>) {
    shop.db.execute_unprepared("PRAGMA journal_mode = WAL").await.unwrap();
    let mut db = shop.pool(1).await;
    let (url, from) = (shop.url.clone(), format!("FROM \"{table}\""));
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tries);
    db.set_metric_callback(move |info| {
        let sql = &info.statement.sql;
        let is_read = sql.starts_with("SELECT") && sql.contains(&from);
        if is_read && counted.fetch_add(1, Ordering::SeqCst) == 0 {
            let url = url.clone();
            let written = thread::spawn(move || rival_writes(&url)).join().unwrap();
            assert!(!written, "the rival came between the read and the write");
        }
    });
    (db, tries)
}

#[tokio::test]
async fn a_delete_reads_when_its_turn_has_come() {
    on_sqlite(|shop| async move {
        let txn = shop.db.begin().await.unwrap();
        let placed = new_order(100).insert(&txn).await.unwrap();
        txn.commit().await.unwrap();
        let (db, tries) = with_rival(&shop, "orders").await;
        let txn = db.begin().await.unwrap();

        known(&placed).delete(&txn).await.unwrap();
        txn.commit().await.unwrap();

        assert_eq!(tries.load(Ordering::SeqCst), 1);
        assert_eq!(types(&shop.db).await, ["orders.order_placed", "orders.cancelled"]);
    })
    .await;
}

#[tokio::test]
async fn a_delete_that_emits_reads_when_its_turn_has_come() {
    on_sqlite(|shop| async move {
        let saved = new_stock("A1", 2).insert(&shop.db).await.unwrap();
        let (db, tries) = with_rival(&shop, "stock").await;
        let txn = db.begin().await.unwrap();

        saved.into_active_model().emit(ReportRequested).delete(&txn).await.unwrap();
        txn.commit().await.unwrap();

        assert_eq!(tries.load(Ordering::SeqCst), 1);
        assert_eq!(count(&shop.db, "stock").await, 0);
        assert_eq!(types(&shop.db).await, ["reports.requested"]);
    })
    .await;
}
