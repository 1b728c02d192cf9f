//! What lies in the outbox.

use sea_orm::{ConnectionTrait, DbBackend};

use crate::database::rows;

/// Types of the staged events, in order.
pub(crate) async fn types(db: &impl ConnectionTrait) -> Vec<String> {
    texts(db, "event_type").await
}

/// Payloads of the staged events, in order.
pub(crate) async fn payloads(db: &impl ConnectionTrait) -> Vec<String> {
    let rows = rows(db, "SELECT payload FROM outbox_message ORDER BY position").await;
    let payload = |row: &sea_orm::QueryResult| row.try_get_by_index::<Vec<u8>>(0).unwrap();
    rows.iter().map(|row| String::from_utf8(payload(row)).unwrap()).collect()
}

/// An expression over each staged event, as text, in order.
pub(crate) async fn texts(db: &impl ConnectionTrait, expression: &str) -> Vec<String> {
    let kind = if db.get_database_backend() == DbBackend::MySql { "char" } else { "text" };
    let rows = rows(
        db,
        &format!("SELECT CAST({expression} AS {kind}) FROM outbox_message ORDER BY position"),
    )
    .await;
    let text = |row: &sea_orm::QueryResult| row.try_get_by_index::<Option<String>>(0).unwrap();
    rows.iter().map(|row| text(row).unwrap_or_else(|| "null".into())).collect()
}
