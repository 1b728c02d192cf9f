//! An application with one aggregate.

use std::sync::Once;

use outbox_seaorm::{OutboxEvent, OutboxSettings};
use sea_orm::{ActiveModelTrait, ConnectionTrait, DatabaseConnection, DatabaseTransaction};
use sea_orm::{DbBackend, DbErr, Set, TransactionOptions, TransactionTrait, Unchanged};
use serde::Serialize;

/// An order was placed.
#[derive(Debug, Serialize, OutboxEvent)]
#[outbox(type = "orders.order_placed", topic = "orders", key = order_id, ordered)]
pub struct OrderPlaced {
    /// Which order.
    pub order_id: i32,
    /// Its total.
    pub total: i64,
}

/// The price of an order changed.
#[derive(Debug, Serialize, OutboxEvent)]
#[outbox(type = "orders.repriced", topic = "orders", key = order_id, ordered)]
pub struct Repriced {
    /// Which order.
    pub order_id: i32,
    /// Its new total.
    pub total: i64,
}

/// The table of orders.
#[expect(missing_docs, reason = "the macros of SeaORM make undocumented items")]
pub mod order {
    use outbox_seaorm::{Change, Events, OutboxAggregate, OutboxError, outbox_hooks};
    use sea_orm::entity::prelude::*;

    use super::{OrderPlaced, Repriced};

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "shop_order")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i32,
        pub total: i64,
    }

    #[outbox_hooks]
    impl ActiveModelBehavior for ActiveModel {}

    impl OutboxAggregate for ActiveModel {
        fn outbox_events(change: Change<'_, Self>, out: &mut Events) -> Result<(), OutboxError> {
            match &change {
                Change::Inserted(order) => {
                    out.push(OrderPlaced { order_id: order.id, total: order.total })
                }
                Change::Updated { after, .. } if change.changed(Column::Total) => {
                    out.push(Repriced { order_id: after.id, total: after.total })
                }
                _ => Ok(()),
            }
        }
    }
}

/// Makes the order table and says how events are staged.
pub async fn open(db: &DatabaseConnection) {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        OutboxSettings::new("https://shop.example/orders").install().expect("first settings");
    });
    let id = match db.get_database_backend() {
        DbBackend::MySql => "INT PRIMARY KEY AUTO_INCREMENT",
        DbBackend::Sqlite => "INTEGER PRIMARY KEY AUTOINCREMENT",
        _ => "SERIAL PRIMARY KEY",
    };
    let sql = format!("CREATE TABLE IF NOT EXISTS shop_order (id {id}, total BIGINT NOT NULL)");
    db.execute_unprepared(&sql).await.expect("the order table");
}

/// What becomes of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It is committed.
    Commit,
    /// It is rolled back, with what it staged.
    Rollback,
}

/// Places an order in a transaction of its own and returns the order's id.
pub async fn place(db: &DatabaseConnection, total: i64, ending: Ending) -> Result<i32, DbErr> {
    let txn = begin(db).await?;
    let order = order::ActiveModel { total: Set(total), ..Default::default() };
    let order = order.insert(&txn).await?;
    match ending {
        Ending::Commit => txn.commit().await?,
        Ending::Rollback => txn.rollback().await?,
    }
    Ok(order.id)
}

/// Changes the total of an order in a transaction of its own.
pub async fn reprice(db: &DatabaseConnection, order_id: i32, total: i64) -> Result<(), DbErr> {
    let txn = begin(db).await?;
    let order = order::ActiveModel { id: Unchanged(order_id), total: Set(total) };
    order.update(&txn).await?;
    txn.commit().await
}

async fn begin(db: &DatabaseConnection) -> Result<DatabaseTransaction, DbErr> {
    let options = TransactionOptions {
        sqlite_transaction_mode: Some(sea_orm::SqliteTransactionMode::Immediate),
        ..TransactionOptions::default()
    };
    db.begin_with_options(options).await
}
