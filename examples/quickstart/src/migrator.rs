//! The application's migrations, with those of the outbox among them.

use sea_orm_migration::prelude::*;
use sea_orm_migration::schema::{big_integer, integer, pk_auto, string};

pub(crate) struct AppMigrator;

impl MigratorTrait for AppMigrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        let mut all: Vec<Box<dyn MigrationTrait>> = vec![Box::new(CreateShop)];
        all.extend(outbox_migration::migrations());
        all
    }
}

struct CreateShop;

impl MigrationName for CreateShop {
    fn name(&self) -> &'static str {
        "m20260201_000001_create_shop"
    }
}

#[async_trait::async_trait]
impl MigrationTrait for CreateShop {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let orders = Table::create()
            .table("orders")
            .col(pk_auto("id"))
            .col(string("customer"))
            .col(string("sku"))
            .col(integer("quantity"))
            .col(big_integer("total"))
            .take();
        let stock = Table::create()
            .table("stock")
            .col(string("sku").primary_key())
            .col(big_integer("quantity"))
            .take();
        let filled = "INSERT INTO stock (sku, quantity) \
                      VALUES ('cup', 1000000), ('pot', 1000000), ('sold-out', 0)";

        manager.create_table(orders).await?;
        manager.create_table(stock).await?;
        manager.get_connection().execute_unprepared(filled).await?;
        Ok(())
    }
}
