//! What a test on a mock database needs.

use bytes::Bytes;
use outbox_core::TableNames;
use sea_orm::sea_query::Value;
use sea_orm::{DbBackend, MockDatabase, MockExecResult, Statement, Transaction};

use crate::error::OutboxError;
use crate::install;
use crate::statement::insert::COLUMNS;

/// Answers of a mock database to staging.
///
/// | call | answers that it takes, in this order |
/// |---|---|
/// | a save that stages | those of the save, then one of [`append_staging`](Self::append_staging) |
/// | an update with `#[outbox_hooks(before)]` | a query result with the old row, then as a save |
/// | a delete that stages | a query result with the row, one exec result of the delete, then one of `append_staging` |
/// | an insert of a composite key on MariaDB or MySQL | an empty query result, then as a save |
/// | on SQLite, an update or a delete of those above | an exec result before the query result |
/// | `stage`, `stage_all` | one of `append_staging` for each statement |
///
/// A save takes the same as without the outbox: a query result where SeaORM has the database return
/// the row (PostgreSQL, and others with SeaORM's features for it), an exec and a query result
/// elsewhere. One statement carries as many events as fit into 14 KiB.
///
/// On PostgreSQL:
///
/// ```
/// # mod order {
/// #     use outbox_seaorm::{Change, Events, OutboxAggregate, OutboxError, outbox_hooks};
/// #     use sea_orm::entity::prelude::*;
/// #     use super::OrderPlaced;
/// #     #[sea_orm::model]
/// #     #[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
/// #     #[sea_orm(table_name = "orders")]
/// #     pub struct Model {
/// #         #[sea_orm(primary_key)]
/// #         pub id: i32,
/// #         pub total: i64,
/// #     }
/// #     #[outbox_hooks]
/// #     impl ActiveModelBehavior for ActiveModel {}
/// #     impl OutboxAggregate for ActiveModel {
/// #         fn outbox_events(change: Change<'_, Self>, out: &mut Events) -> Result<(), OutboxError> {
/// #             out.push(OrderPlaced { order_id: change.model().id })
/// #         }
/// #     }
/// # }
/// # use outbox_seaorm::{OutboxEvent, OutboxSettings, scope};
/// # #[derive(serde::Serialize, OutboxEvent)]
/// # #[outbox(type = "orders.order_placed", topic = "orders")]
/// # struct OrderPlaced { order_id: i32 }
/// use outbox_seaorm::testing::{MockStaging, logged_events};
/// use sea_orm::{ActiveModelTrait, DbBackend, DbErr, MockDatabase, Set};
/// use sea_orm::{TransactionSession, TransactionTrait};
///
/// async fn placing_an_order_stages() -> Result<(), DbErr> {
///     let db = MockDatabase::new(DbBackend::Postgres)
///         .append_query_results([[order::Model { id: 7, total: 100 }]]) // INSERT .. RETURNING
///         .append_staging(1)
///         .into_connection();
///
///     let txn = db.begin().await?;
///     order::ActiveModel { total: Set(100), ..Default::default() }.insert(&txn).await?;
///     txn.commit().await?;
///
///     let logged = logged_events(&db.into_transaction_log())?;
///     assert_eq!(logged[0].event_type, "orders.order_placed");
///     assert_eq!(logged[0].payload, r#"{"order_id":7}"#);
///     Ok(())
/// }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), DbErr> {
/// # scope(OutboxSettings::new("https://shop.example/orders"), placing_an_order_stages()).await
/// # }
/// ```
///
/// On SQLite, with an event that no save stages:
///
/// ```
/// # use outbox_seaorm::{OutboxEvent, OutboxSettings, Stage, scope};
/// # #[derive(serde::Serialize, OutboxEvent)]
/// # #[outbox(type = "reports.requested", topic = "reports")]
/// # struct ReportRequested;
/// use outbox_seaorm::testing::{MockStaging, logged_events};
/// use sea_orm::{DbBackend, DbErr, MockDatabase};
/// use sea_orm::{TransactionSession, TransactionTrait};
///
/// async fn asking_for_a_report_stages() -> Result<(), DbErr> {
///     let db = MockDatabase::new(DbBackend::Sqlite).append_staging(1).into_connection();
///
///     let txn = db.begin().await?;
///     txn.stage(ReportRequested).await?;
///     txn.commit().await?;
///
///     let logged = logged_events(&db.into_transaction_log())?;
///     assert_eq!(logged[0].topic, "reports");
///     Ok(())
/// }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), DbErr> {
/// # scope(OutboxSettings::new("https://shop.example/orders"), asking_for_a_report_stages()).await
/// # }
/// ```
pub trait MockStaging {
    /// Appends the answer to one staging of so many events.
    fn append_staging(self, events: u64) -> Self;
}

impl MockStaging for MockDatabase {
    fn append_staging(self, events: u64) -> Self {
        self.append_exec_results([MockExecResult { last_insert_id: 0, rows_affected: events }])
    }
}

/// An event that a mock database was given.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoggedEvent {
    /// Stable wire name.
    pub event_type: String,
    /// Where it goes.
    pub topic: String,
    /// Partition key.
    pub key: Option<String>,
    /// The payload, byte for byte.
    pub payload: Bytes,
}

/// The events that were staged on a mock database, in order, out of its transaction log.
///
/// A statement that stages inserts into the table `outbox_message` of the settings in force. A log
/// has what was sent and not what became of it: events of a transaction that was rolled back are in
/// it too, as are its other statements.
///
/// # Errors
/// [`OutboxError::NotInstalled`] without settings.
pub fn logged_events(log: &[Transaction]) -> Result<Vec<LoggedEvent>, OutboxError> {
    let settings = install::current()?;
    let tables = settings.table_names();
    let statements = log.iter().flat_map(Transaction::statements);
    Ok(statements.filter(|statement| stages(statement, tables)).flat_map(events).collect())
}

fn stages(statement: &Statement, tables: &TableNames) -> bool {
    let quote = if statement.db_backend == DbBackend::MySql { '`' } else { '"' };
    statement.sql.contains(&format!("INSERT INTO {} (", tables.quoted("message", quote)))
}

fn events(statement: &Statement) -> Vec<LoggedEvent> {
    let values = statement.values.as_ref().map_or(&[][..], |values| &values.0);
    let row = |row| LoggedEvent {
        event_type: text(cell(values, row, "event_type")).unwrap_or_default(),
        topic: text(cell(values, row, "topic")).unwrap_or_default(),
        key: text(cell(values, row, "partition_key")),
        payload: bytes(cell(values, row, "payload")),
    };
    (0..rows(values)).map(row).collect()
}

/// How many events there are: values come row by row, or each column as one array.
fn rows(values: &[Value]) -> usize {
    match values.first() {
        #[cfg(feature = "postgres")]
        Some(Value::Array(_, Some(lanes))) => lanes.len(),
        _ => values.len() / COLUMNS.len(),
    }
}

fn cell<'v>(values: &'v [Value], row: usize, column: &str) -> Option<&'v Value> {
    let column = COLUMNS.iter().position(|name| *name == column)?;
    match values.get(column) {
        #[cfg(feature = "postgres")]
        Some(Value::Array(_, Some(each))) => each.get(row),
        _ => values.get(row * COLUMNS.len() + column),
    }
}

/// A text; in an array an empty one stands for none.
fn text(value: Option<&Value>) -> Option<String> {
    match value {
        Some(Value::String(text)) => text.clone().filter(|text| !text.is_empty()),
        _ => None,
    }
}

fn bytes(value: Option<&Value>) -> Bytes {
    match value {
        Some(Value::Bytes(Some(bytes))) => Bytes::copy_from_slice(bytes),
        _ => Bytes::new(),
    }
}
