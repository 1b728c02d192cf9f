//! What is in stock. It stages no events: not every entity has to.

use sea_orm::ExprTrait;
use sea_orm::entity::prelude::*;
use sea_orm::sea_query::Expr;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "stock")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub sku: String,
    pub quantity: i64,
}

impl ActiveModelBehavior for ActiveModel {}

/// Takes this many out, or says that there are too few.
///
/// One statement looks and takes, so that two orders cannot both get the last piece. SeaORM calls
/// no hooks for `update_many`; an entity with events would need them staged by hand.
pub(crate) async fn take<C: ConnectionTrait>(
    db: &C,
    sku: &str,
    quantity: i32,
) -> Result<bool, DbErr> {
    let taken = Entity::update_many()
        .col_expr(Column::Quantity, Expr::col(Column::Quantity).sub(quantity))
        .filter(Column::Sku.eq(sku))
        .filter(Column::Quantity.gte(quantity))
        .exec(db)
        .await?;
    Ok(taken.rows_affected == 1)
}

/// Puts this many back.
pub(crate) async fn put_back<C: ConnectionTrait>(
    db: &C,
    sku: &str,
    quantity: i32,
) -> Result<(), DbErr> {
    Entity::update_many()
        .col_expr(Column::Quantity, Expr::col(Column::Quantity).add(quantity))
        .filter(Column::Sku.eq(sku))
        .exec(db)
        .await?;
    Ok(())
}
