//! Transactional outbox for `SeaORM`: an event commits together with the row it is about.
//!
//! Saving an entity stages its events in the same `DatabaseTransaction`; a worker sends them later.
//! A committed event is sent at least once, an event of a rolled-back transaction never is.
//!
//! # Writes that stage nothing
//!
//! `SeaORM` runs hooks for saves and deletes of an active model, and for nothing else:
//!
//! | write | hooks | write this instead |
//! |---|---|---|
//! | `ActiveModel::insert`, `update`, `save`, `delete`, also nested ones of an `ActiveModelEx`, with its junction rows | all | |
//! | `ActiveModel::update_without_returning` | before the write alone | `update` |
//! | `Entity::insert(..).exec`, `Entity::insert_many` | none | `insert` for each, or [`Stage::stage_all`] beside it |
//! | `Entity::update(..).exec`, `Entity::update_many` | none | `update` for each, or [`Stage::stage_all`] beside it |
//! | `Entity::delete(..).exec`, `Entity::delete_by_id`, `delete_by_…` of a unique column, `Entity::delete_many` | none | `delete` on the model, or [`Stage::stage_all`] beside it |
//! | junction rows that go because `cascade_delete` or `ModelEx::delete` deletes their parent | none | [`Stage::stage_all`] beside it |
//! | raw SQL, triggers, `ON DELETE CASCADE` | none | [`Stage::stage`] beside it |
//!
//! Clippy finds most of them in an application. The file is `docs/clippy.toml` of this crate:
//!
#![doc = "```toml"]
#![doc = include_str!("../docs/clippy.toml")]
#![doc = "```"]
//!
//! # The whole of it
//!
//! ```
//! use std::time::Duration;
//!
//! use outbox_seaorm::{Emit, EventExt, OutboxEvent, OutboxSettings, Stage};
//! use sea_orm::{ActiveModelTrait, DatabaseConnection, DbErr, IntoActiveModel, Set};
//! use sea_orm::{TransactionSession, TransactionTrait};
//! use serde::Serialize;
//!
//! #[derive(Serialize, OutboxEvent)]
//! #[outbox(type = "orders.order_placed", version = 1, topic = "orders", key = order_id, ordered)]
//! struct OrderPlaced {
//!     order_id: i32,
//!     total: i64,
//! }
//!
//! #[derive(Serialize, OutboxEvent)]
//! #[serde(tag = "kind")]
//! #[outbox(topic = "orders", key = order_id, ordered)]
//! enum OrderEvent {
//!     #[outbox(type = "orders.repriced", version = 2)]
//!     Repriced { order_id: i32, total: i64 },
//!     #[outbox(type = "orders.cancelled")]
//!     Cancelled { order_id: i32 },
//! }
//!
//! mod order {
//!     use outbox_seaorm::{Change, Events, OutboxAggregate, OutboxError, outbox_hooks};
//!     use sea_orm::entity::prelude::*;
//!
//!     use super::{OrderEvent, OrderPlaced};
//!
//!     #[sea_orm::model]
//!     #[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
//!     #[sea_orm(table_name = "orders")]
//!     pub struct Model {
//!         #[sea_orm(primary_key)]
//!         pub id: i32,
//!         pub total: i64,
//!     }
//!
//!     #[outbox_hooks] // keeps the application's own hook bodies
//!     impl ActiveModelBehavior for ActiveModel {}
//!
//!     impl OutboxAggregate for ActiveModel {
//!         fn outbox_events(change: Change<'_, Self>, out: &mut Events) -> Result<(), OutboxError> {
//!             match &change {
//!                 Change::Inserted(order) => {
//!                     out.push(OrderPlaced { order_id: order.id, total: order.total })
//!                 }
//!                 Change::Updated { after, .. } if change.changed(Column::Total) => {
//!                     out.push(OrderEvent::Repriced { order_id: after.id, total: after.total })
//!                 }
//!                 Change::Deleted(order) => out.push(OrderEvent::Cancelled { order_id: order.id }),
//!                 _ => Ok(()),
//!             }
//!         }
//!     }
//! }
//! # mod stock {
//! #     use sea_orm::entity::prelude::*;
//! #     #[sea_orm::model]
//! #     #[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
//! #     #[sea_orm(table_name = "stock")]
//! #     pub struct Model {
//! #         #[sea_orm(primary_key)]
//! #         pub id: i32,
//! #         pub sku: String,
//! #     }
//! #     impl ActiveModelBehavior for ActiveModel {}
//! # }
//! # #[derive(Serialize, OutboxEvent)]
//! # #[outbox(type = "stock.reserved", topic = "stock")]
//! # struct StockReserved { sku: String }
//! # #[derive(Serialize, OutboxEvent)]
//! # #[outbox(type = "reports.nightly_requested", topic = "reports")]
//! # struct NightlyRequested;
//!
//! async fn place(db: &DatabaseConnection) -> Result<(), DbErr> {
//!     let order = order::ActiveModel { total: Set(100), ..Default::default() };
//!     let stock = stock::ActiveModel { sku: Set("A1".to_owned()), ..Default::default() };
//!
//!     let txn = db.begin().await?;
//!     let order = order.insert(&txn).await?; // the hook stages OrderPlaced with the generated id
//!     stock.emit_with(|saved| StockReserved { sku: saved.sku.clone() }).insert(&txn).await?;
//!     txn.stage(NightlyRequested.after(Duration::from_secs(3600))).await?; // no entity, scheduled
//!     txn.commit().await?;
//!
//!     let txn = db.begin().await?;
//!     order.into_active_model().delete(&txn).await?; // stages OrderEvent::Cancelled
//!     txn.rollback().await // which takes it back
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use sea_orm::{ConnectionTrait, Database, Schema};
//! # let folder = tempfile::tempdir()?;
//! # let url = format!("sqlite://{}?mode=rwc", folder.path().join("app.sqlite").display());
//! # let db = Database::connect(url).await?;
//! # outbox_migration::migrate(&db).await?;
//! # let schema = Schema::new(db.get_database_backend());
//! # db.execute(&schema.create_table_from_entity(order::Entity)).await?;
//! # db.execute(&schema.create_table_from_entity(stock::Entity)).await?;
//! // Once per process, at start.
//! OutboxSettings::new("https://shop.example/orders").install()?;
//! place(&db).await?;
//! # let staged = "SELECT count(*) FROM outbox_message";
//! # let staged = sea_orm::Statement::from_string(db.get_database_backend(), staged);
//! # let count: i64 = db.query_one_raw(staged).await?.unwrap().try_get_by_index(0)?;
//! # assert_eq!(count, 3);
//! # Ok(())
//! # }
//! ```
//!
//! # Rules of a transaction
//!
//! - Hooks refuse everything but a transaction before anything is written. [`Stage`] and [`Emit`]
//!   do not even compile on a plain connection.
//! - After an error roll back: the row of a save whose events could not be staged is written
//!   already. `db.transaction(|txn| ..)` does so by itself.
//! - On MariaDB and MySQL a deadlock has undone the whole transaction already, also if a savepoint
//!   met it, and so has every statement that changes the schema committed it: what follows on the
//!   same `DatabaseTransaction` is committed statement by statement. Pass such an error on to whoever
//!   began the transaction, and change no schema in one.
//! - What a framework hands out in place of a `DatabaseTransaction` is refused until
//!   [`trust_transaction_type`] or [`prove_transaction_type`] names its type.
//! - A transaction on SQLite that reads first and writes later fails where another one has written in
//!   between (`database is locked`, at once). Begin it with
//!   `SqliteTransactionMode::Immediate` if it reads for itself; what hooks read is no such case.
//! - A row that a trigger or a row-level policy keeps from being deleted is announced as deleted: no
//!   hook learns how many rows went. [`Emit`] does.
//! - A savepoint that is rolled back takes its events with it. Never run two saves at once on one
//!   transaction: the driver counts savepoints and cannot tell them apart.
//! - A future that is dropped before it answers (a timeout, a `select!`) leaves its transaction in
//!   an unknown state: drop the transaction as well.
//! - A parent's hook runs before its children are saved. Stage what is about the whole aggregate
//!   after the nested save.
//! - Context and settings are task-local: [`ScopeContext::scope`] and [`scope`] hold for what the
//!   future itself awaits, not for what it spawns.
//!
//! [`compile_errors`] shows what the compiler says to a mistake; the feature `testing` has
//! assertions about what is staged, for an application's own tests.

// The macros name this crate by its public name, also in the crate's own tests.
extern crate self as outbox_seaorm;

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
mod connect;
mod context;
mod emit;
pub mod entity;
mod error;
mod events;
mod hook;
mod install;
#[cfg(feature = "tower")]
mod layer;
#[cfg(feature = "postgres")]
mod listen;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
mod mapping;
mod proof;
mod raised;
mod settings;
mod stage;
mod statement;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod wake;

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
pub use connect::{PoolOptions, connect};
pub use context::{ScopeContext, current_context};
pub use emit::{Emit, Emitting, SavesOneRow, Saving};
pub use error::{OutboxError, Refusal, WriteKind};
pub use events::{Events, IntoEvents};
pub use hook::{Change, ModelOf, OutboxAggregate, trust_transaction_type};
pub use install::scope;
#[cfg(feature = "tower")]
pub use layer::{ContextLayer, ContextService, DroppedHeaders};
#[cfg(feature = "postgres")]
pub use listen::WakeListener;
pub use outbox_core::{
    BoxError, Codec, Context, EncodeError, Envelope, EnvelopeForm, Environment, EventExt, EventId,
    Headers, IntoEnvelope, Json, OutboxEvent, Payload, PayloadError, Schedule, SettingsError,
    TableNames, TextFault, TopicKind, TopicProfile, TopicProfiles, Unsendable,
};
pub use outbox_seaorm_macros::outbox_hooks;
pub use proof::prove_transaction_type;
pub use raised::RaisedEvents;
pub use settings::OutboxSettings;
pub use stage::{InTransaction, Stage};
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
pub use store::SeaOrmStore;
pub use wake::{CommitNotifier, Wake};

/// What the compiler says to a mistake.
///
#[doc = include_str!("../docs/compile-errors.md")]
#[cfg(any(doc, doctest))]
pub mod compile_errors {}

/// What the generated hooks call; no part of the promise.
#[doc(hidden)]
pub mod __private {
    pub use async_trait::async_trait;
    pub use sea_orm::{ActiveModelTrait, ConnectionTrait, DbErr, EntityTrait};

    pub use crate::hook::{Aggregate, HasOutboxHooks, Hooks, ReadsBefore};
}
