//! The transaction that is measured: an order, with or without an event.

use outbox_core::{Context, Envelope, EventExt as _, EventId};
use outbox_seaorm::Stage;
use sea_orm::sqlx::{self, PgPool};
use sea_orm::{ActiveModelTrait, DatabaseConnection, Set, TransactionTrait};

use crate::Done;
use crate::order::{OrderPlaced, announced, silent};

const INSERT: &str = "INSERT INTO outbox_message (lane, id, format, event_type, event_version, \
    topic, source, partition_key, content_type, payload, size, headers, correlation_id, \
    occurred_at) VALUES ($1, $2, 1, $3, 1, $4, $5, $6, $7, $8, $9, '[]', $10, now())";

/// Through the hook.
pub(crate) async fn with_hook(db: &DatabaseConnection) -> Done<()> {
    let txn = db.begin().await?;
    announced::ActiveModel { total: Set(100), ..Default::default() }.insert(&txn).await?;
    txn.commit().await?;
    Ok(())
}

/// The same save with ten events of about the same size.
pub(crate) async fn with_ten(db: &DatabaseConnection) -> Done<()> {
    let txn = db.begin().await?;
    let order = silent::ActiveModel { total: Set(100), ..Default::default() }.insert(&txn).await?;
    txn.stage_all((0..10).map(|_| OrderPlaced::of(order.id))).await?;
    txn.commit().await?;
    Ok(())
}

/// The same save without an event.
pub(crate) async fn without_event(db: &DatabaseConnection) -> Done<()> {
    let txn = db.begin().await?;
    silent::ActiveModel { total: Set(100), ..Default::default() }.insert(&txn).await?;
    txn.commit().await?;
    Ok(())
}

/// The same two rows by plain sqlx.
pub(crate) async fn with_sqlx(pool: &PgPool) -> Done<()> {
    let mut txn = pool.begin().await?;
    let order_id: i64 =
        sqlx::query_scalar("INSERT INTO bench_order (total) VALUES ($1) RETURNING id")
            .bind(100_i64)
            .fetch_one(&mut *txn)
            .await?;
    let event = OrderPlaced::of(order_id);
    let envelope: Envelope<OrderPlaced> = event.with_id(EventId::new());
    let message = envelope.encode("https://shop.example.com/orders", &Context::default())?.message;
    sqlx::query(INSERT)
        .bind(i16::from(message.lane().number()))
        .bind(message.id.uuid())
        .bind(&*message.event_type)
        .bind(&*message.topic)
        .bind(&*message.source)
        .bind(&message.partition_key)
        .bind(&*message.content_type)
        .bind(&*message.payload)
        .bind(i32::try_from(message.size())?)
        .bind(&message.correlation_id)
        .execute(&mut *txn)
        .await?;
    txn.commit().await?;
    Ok(())
}
