//! The application that the tests stage from.

use std::collections::BTreeMap;

use outbox_seaorm::OutboxEvent;
use sea_orm::{ConnectionTrait, DatabaseConnection, Schema, Set};
use serde::Serialize;

use crate::database::TestDatabase;

#[derive(Clone, Debug, Serialize, OutboxEvent)]
#[outbox(type = "orders.order_placed", version = 1, topic = "orders", key = order_id, ordered)]
pub(crate) struct OrderPlaced {
    pub(crate) order_id: i32,
    pub(crate) total: i64,
}

#[derive(Clone, Debug, Serialize, OutboxEvent)]
#[serde(tag = "kind")]
#[outbox(topic = "orders", key = order_id, ordered)]
pub(crate) enum OrderEvent {
    #[outbox(type = "orders.repriced", version = 2)]
    Repriced { order_id: i32, total: i64 },
    #[outbox(type = "orders.renoted")]
    Renoted { order_id: i32, note: Option<String> },
    #[outbox(type = "orders.cancelled")]
    Cancelled { order_id: i32, total: i64 },
}

#[derive(Clone, Debug, Serialize, OutboxEvent)]
#[outbox(type = "orders.line_added", topic = "lines", key = order_id)]
pub(crate) struct LineAdded {
    pub(crate) order_id: i32,
    pub(crate) sku: String,
}

#[derive(Clone, Debug, Serialize, OutboxEvent)]
#[outbox(type = "stock.reserved", topic = "stock", key = sku)]
pub(crate) struct StockReserved {
    pub(crate) sku: String,
    pub(crate) quantity: i32,
}

#[derive(Clone, Debug, Serialize, OutboxEvent)]
#[outbox(type = "reports.requested", topic = "reports")]
pub(crate) struct ReportRequested;

/// JSON has no map with such keys.
#[derive(Clone, Debug, Serialize, OutboxEvent)]
#[outbox(type = "reports.unserializable", topic = "reports")]
pub(crate) struct Unserializable {
    counts: BTreeMap<(i32, i32), i32>,
}

impl Unserializable {
    pub(crate) fn new() -> Self {
        Self { counts: BTreeMap::from([((1, 2), 3)]) }
    }
}

/// An aggregate; an order of 13 has an event that does not serialize.
pub(crate) mod order {
    use outbox_seaorm::{Change, Events, OutboxAggregate, OutboxError, outbox_hooks};
    use sea_orm::entity::prelude::*;

    use super::{OrderEvent, OrderPlaced, ReportRequested, Unserializable};

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "orders")]
    pub(crate) struct Model {
        #[sea_orm(primary_key)]
        pub id: i32,
        pub total: i64,
        pub note: Option<String>,
        #[sea_orm(has_many)]
        pub lines: HasMany<super::line::Entity>,
    }

    #[outbox_hooks]
    impl ActiveModelBehavior for ActiveModel {}

    impl OutboxAggregate for ActiveModel {
        fn outbox_events(change: Change<'_, Self>, out: &mut Events) -> Result<(), OutboxError> {
            match &change {
                Change::Inserted(order) if order.total == 13 => out.push(Unserializable::new()),
                Change::Inserted(order) if order.total == 14 => {
                    Err(OutboxError::aggregate("fourteen"))
                }
                Change::Inserted(order) => {
                    out.push(OrderPlaced { order_id: order.id, total: order.total })?;
                    // A big order has a second event.
                    if order.total > 1_000 { out.push(ReportRequested) } else { Ok(()) }
                }
                Change::Updated { after, .. } => {
                    if change.changed(Column::Total) {
                        out.push(OrderEvent::Repriced { order_id: after.id, total: after.total })?;
                    }
                    if change.changed(Column::Note) {
                        let note = after.note.clone();
                        out.push(OrderEvent::Renoted { order_id: after.id, note })?;
                    }
                    Ok(())
                }
                Change::Deleted(order) => {
                    out.push(OrderEvent::Cancelled { order_id: order.id, total: order.total })
                }
            }
        }
    }
}

/// An aggregate that belongs to an order.
pub(crate) mod line {
    use outbox_seaorm::{Change, Events, OutboxAggregate, OutboxError, outbox_hooks};
    use sea_orm::entity::prelude::*;

    use super::LineAdded;

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "order_lines")]
    pub(crate) struct Model {
        #[sea_orm(primary_key)]
        pub id: i32,
        pub order_id: i32,
        pub sku: String,
        #[sea_orm(belongs_to, from = "order_id", to = "id")]
        pub order: HasOne<super::order::Entity>,
    }

    #[outbox_hooks]
    impl ActiveModelBehavior for ActiveModel {}

    impl OutboxAggregate for ActiveModel {
        fn outbox_events(change: Change<'_, Self>, out: &mut Events) -> Result<(), OutboxError> {
            match change {
                Change::Inserted(line) => {
                    out.push(LineAdded { order_id: line.order_id, sku: line.sku.clone() })
                }
                _ => Ok(()),
            }
        }
    }
}

/// An entity that declares no events.
pub(crate) mod stock {
    use sea_orm::entity::prelude::*;

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "stock")]
    pub(crate) struct Model {
        #[sea_orm(primary_key)]
        pub id: i32,
        pub sku: String,
        pub quantity: i32,
    }

    impl ActiveModelBehavior for ActiveModel {}
}

pub(crate) fn new_order(total: i64) -> order::ActiveModel {
    order::ActiveModel { total: Set(total), ..Default::default() }
}

/// A row that was read before, with nothing assigned.
pub(crate) fn known(order: &order::Model) -> order::ActiveModel {
    sea_orm::IntoActiveModel::into_active_model(order.clone())
}

pub(crate) fn new_stock(sku: &str, quantity: i32) -> stock::ActiveModel {
    stock::ActiveModel { sku: Set(sku.to_owned()), quantity: Set(quantity), ..Default::default() }
}

pub(crate) async fn create_tables(db: &DatabaseConnection) {
    let schema = Schema::new(db.get_database_backend());
    for table in [
        schema.create_table_from_entity(order::Entity),
        schema.create_table_from_entity(line::Entity),
        schema.create_table_from_entity(stock::Entity),
        schema.create_table_from_entity(crate::own_hooks::parcel::Entity),
    ] {
        db.execute(&table).await.unwrap();
    }
}

/// Lets a trigger keep the rows of a table.
pub(crate) async fn prevent_deletes(shop: &TestDatabase, table: &str) {
    let on_mariadb = "FOR EACH ROW SIGNAL SQLSTATE '45000'";
    let on_postgres = "FOR EACH ROW EXECUTE FUNCTION keep()";
    let on_sqlite = "BEGIN SELECT RAISE(IGNORE); END";
    if shop.is_postgres() {
        let keep = "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql
            AS 'BEGIN RETURN NULL; END'";
        shop.db.execute_unprepared(keep).await.unwrap();
    }
    let body = shop.choose(on_mariadb, on_postgres, on_sqlite);
    let trigger = format!("CREATE TRIGGER keep BEFORE DELETE ON {table} {body}");
    shop.db.execute_unprepared(&trigger).await.unwrap();
}
