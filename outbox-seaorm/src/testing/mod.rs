//! For an application's own tests: what a transaction has staged.
//!
//! Feature `testing`, for `[dev-dependencies]`. A test saves, looks at what is staged on the same
//! transaction, and rolls back; no worker runs and nothing is sent:
//!
//! ```
//! # mod order {
//! #     use outbox_seaorm::{Change, Events, OutboxAggregate, OutboxError, outbox_hooks};
//! #     use sea_orm::entity::prelude::*;
//! #     use super::OrderPlaced;
//! #     #[sea_orm::model]
//! #     #[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
//! #     #[sea_orm(table_name = "orders")]
//! #     pub struct Model {
//! #         #[sea_orm(primary_key)]
//! #         pub id: i32,
//! #         pub total: i64,
//! #     }
//! #     #[outbox_hooks]
//! #     impl ActiveModelBehavior for ActiveModel {}
//! #     impl OutboxAggregate for ActiveModel {
//! #         fn outbox_events(change: Change<'_, Self>, out: &mut Events) -> Result<(), OutboxError> {
//! #             let order = change.model();
//! #             out.push(OrderPlaced { order_id: order.id, total: order.total })
//! #         }
//! #     }
//! # }
//! use outbox_seaorm::testing::{assert_nothing_staged, assert_staged, staged_events};
//! use outbox_seaorm::{OutboxEvent, OutboxSettings, scope};
//! use sea_orm::{ActiveModelTrait, DatabaseConnection, DbErr, Set};
//! use sea_orm::{TransactionSession, TransactionTrait};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, OutboxEvent)] // `Deserialize` for `assert_staged`
//! #[outbox(type = "orders.order_placed", topic = "orders", key = order_id, ordered)]
//! struct OrderPlaced {
//!     order_id: i32,
//!     total: i64,
//! }
//!
//! async fn placing_an_order_tells_its_total(db: &DatabaseConnection) -> Result<(), DbErr> {
//!     let txn = db.begin().await?;
//!     assert_nothing_staged(&txn).await;
//!
//!     let order = order::ActiveModel { total: Set(100), ..Default::default() };
//!     let order = order.insert(&txn).await?;
//!
//!     let placed = assert_staged::<OrderPlaced, _>(&txn, |event| event.total == 100).await;
//!     assert_eq!(placed.order_id, order.id);
//!     let staged = staged_events(&txn).await?;
//!     assert_eq!(staged.len(), 1);
//!     assert_eq!(staged[0].message.ordering_key, Some(order.id.to_string()));
//!     txn.rollback().await
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use sea_orm::{ConnectionTrait, Database, Schema};
//! # let folder = tempfile::tempdir()?;
//! # let url = format!("sqlite://{}?mode=rwc", folder.path().join("app.sqlite").display());
//! # let db = Database::connect(url).await?;
//! # outbox_migration::migrate(&db).await?;
//! # let schema = Schema::new(db.get_database_backend());
//! # db.execute(&schema.create_table_from_entity(order::Entity)).await?;
//! // Tests of one process stage under settings of their own.
//! let settings = OutboxSettings::new("https://shop.example/orders");
//! scope(settings, placing_an_order_tells_its_total(&db)).await?;
//! # Ok(())
//! # }
//! ```
//!
//! For a `MockDatabase` see the functions of the feature `mock`.

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
mod assertion;
#[cfg(feature = "mock")]
mod mock;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
mod staged;

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
pub use assertion::{assert_nothing_staged, assert_staged};
#[cfg(feature = "mock")]
pub use mock::{LoggedEvent, MockStaging, logged_events};
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
pub use staged::{StagedEvent, staged_events};
