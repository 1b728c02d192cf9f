//! An order: an ordinary entity that says which events its changes stage.

use outbox_seaorm::{Change, Events, OutboxAggregate, OutboxError, outbox_hooks};
use sea_orm::entity::prelude::*;
use serde::Serialize;

use crate::events::{OrderEvent, OrderPlaced};

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel, Serialize)]
#[sea_orm(table_name = "orders")]
pub(crate) struct Model {
    #[sea_orm(primary_key)]
    pub id: i32,
    pub customer: String,
    pub sku: String,
    pub quantity: i32,
    pub total: i64,
}

#[outbox_hooks]
impl ActiveModelBehavior for ActiveModel {}

impl OutboxAggregate for ActiveModel {
    fn outbox_events(change: Change<'_, Self>, out: &mut Events) -> Result<(), OutboxError> {
        match &change {
            // After the insert, so the id is the one that the database chose.
            Change::Inserted(order) => out.push(OrderPlaced {
                order_id: order.id,
                sku: order.sku.clone(),
                quantity: order.quantity,
                total: order.total,
            }),
            Change::Updated { after, .. } if change.changed(Column::Total) => {
                out.push(OrderEvent::Repriced { order_id: after.id, total: after.total })
            }
            Change::Updated { .. } => Ok(()),
            Change::Deleted(order) => out.push(OrderEvent::Cancelled { order_id: order.id }),
        }
    }
}
