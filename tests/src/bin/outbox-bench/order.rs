//! One table of orders, saved with and without an event.

use outbox_seaorm::OutboxEvent;
use serde::Serialize;

/// About 300 bytes of payload, as the backlog of the drain has them.
#[derive(Debug, Serialize, OutboxEvent)]
#[outbox(type = "orders.order_placed", topic = "orders", key = order_id)]
pub(crate) struct OrderPlaced {
    pub(crate) order_id: i64,
    pub(crate) total: i64,
    pub(crate) note: String,
}

impl OrderPlaced {
    pub(crate) fn of(order_id: i64) -> Self {
        Self { order_id, total: 100, note: "x".repeat(250) }
    }
}

/// Saves stage an event.
pub(crate) mod announced {
    use outbox_seaorm::{Change, Events, OutboxAggregate, OutboxError, outbox_hooks};
    use sea_orm::entity::prelude::*;

    use super::OrderPlaced;

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "bench_order")]
    pub(crate) struct Model {
        #[sea_orm(primary_key)]
        pub(crate) id: i64,
        pub(crate) total: i64,
    }

    #[outbox_hooks]
    impl ActiveModelBehavior for ActiveModel {}

    impl OutboxAggregate for ActiveModel {
        fn outbox_events(change: Change<'_, Self>, out: &mut Events) -> Result<(), OutboxError> {
            match &change {
                Change::Inserted(order) => out.push(OrderPlaced::of(order.id)),
                _ => Ok(()),
            }
        }
    }
}

/// Saves stage nothing.
pub(crate) mod silent {
    use sea_orm::entity::prelude::*;

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "bench_order")]
    pub(crate) struct Model {
        #[sea_orm(primary_key)]
        pub(crate) id: i64,
        pub(crate) total: i64,
    }

    impl ActiveModelBehavior for ActiveModel {}
}
