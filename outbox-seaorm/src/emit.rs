//! Events beside the save of an entity that declares none.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use outbox_core::IntoEnvelope;
use sea_orm::{
    ActiveModelBehavior, ActiveModelTrait, DbErr, DeleteResult, EntityTrait, IntoActiveModel,
    Iterable, PrimaryKeyToColumn,
};

use crate::error::OutboxError;
use crate::events::Events;
use crate::hook::{ModelOf, row};
use crate::stage::InTransaction;

/// What a call on a connection answers.
///
/// It is boxed, as `SeaORM`'s own are: the compiler reports a connection that is no transaction
/// once, and for a nameless future it does so three times.
pub type Saving<'a, T> = Pin<Box<dyn Future<Output = Result<T, DbErr>> + Send + 'a>>;

type Build<'e, A> =
    Box<dyn FnOnce(&ModelOf<A>, &mut Events) -> Result<(), OutboxError> + Send + 'e>;

/// Puts an event beside the save of any active model, with or without hooks.
///
/// ```
/// # use outbox_seaorm::{Emit, OutboxEvent};
/// # mod stock {
/// #     use sea_orm::entity::prelude::*;
/// #     #[sea_orm::model]
/// #     #[derive(Clone, Debug, DeriveEntityModel)]
/// #     #[sea_orm(table_name = "stock")]
/// #     pub struct Model { #[sea_orm(primary_key)] pub id: i32, pub sku: String }
/// #     impl ActiveModelBehavior for ActiveModel {}
/// # }
/// # #[derive(serde::Serialize, OutboxEvent)]
/// # #[outbox(type = "stock.reserved", topic = "stock")]
/// # struct StockReserved { sku: String }
/// use sea_orm::{DatabaseTransaction, DbErr};
///
/// async fn reserve(txn: &DatabaseTransaction, stock: stock::ActiveModel) -> Result<(), DbErr> {
///     stock.emit_with(|saved| StockReserved { sku: saved.sku.clone() }).update(txn).await?;
///     Ok(())
/// }
/// ```
///
/// On a plain connection it does not compile:
///
/// ```compile_fail,E0277
/// # use outbox_seaorm::{Emit, OutboxEvent};
/// # mod stock {
/// #     use sea_orm::entity::prelude::*;
/// #     #[sea_orm::model]
/// #     #[derive(Clone, Debug, DeriveEntityModel)]
/// #     #[sea_orm(table_name = "stock")]
/// #     pub struct Model { #[sea_orm(primary_key)] pub id: i32, pub sku: String }
/// #     impl ActiveModelBehavior for ActiveModel {}
/// # }
/// # #[derive(serde::Serialize, OutboxEvent)]
/// # #[outbox(type = "stock.reserved", topic = "stock")]
/// # struct StockReserved { sku: String }
/// use sea_orm::{DatabaseConnection, DbErr};
///
/// async fn reserve(db: &DatabaseConnection, stock: stock::ActiveModel) -> Result<(), DbErr> {
///     stock.emit(StockReserved { sku: "A1".into() }).update(db).await?;
///     Ok(()) // error: `DatabaseConnection` is not a transaction
/// }
/// ```
pub trait Emit: ActiveModelTrait {
    /// Stages this event once the call that follows has succeeded.
    fn emit<'e, E>(self, event: E) -> Emitting<'e, Self>
    where
        E: IntoEnvelope + Send + 'e,
    {
        Emitting { active: self, events: Vec::new() }.emit(event)
    }

    /// Stages the event that is built from the saved row, with what the database put into it.
    fn emit_with<'e, E, F>(self, build: F) -> Emitting<'e, Self>
    where
        E: IntoEnvelope,
        F: FnOnce(&ModelOf<Self>) -> E + Send + 'e,
    {
        Emitting { active: self, events: Vec::new() }.emit_with(build)
    }
}

impl<A: ActiveModelTrait> Emit for A {}

/// An active model with the events that its save stages.
#[must_use = "nothing is saved or staged before `insert`, `update`, `save` or `delete`"]
pub struct Emitting<'e, A: ActiveModelTrait> {
    active: A,
    events: Vec<Build<'e, A>>,
}

impl<'e, A: ActiveModelTrait> Emitting<'e, A> {
    /// As [`Emit::emit`], one event more.
    pub fn emit<E>(mut self, event: E) -> Self
    where
        E: IntoEnvelope + Send + 'e,
    {
        self.events.push(Box::new(|_, events| events.push(event)));
        self
    }

    /// As [`Emit::emit_with`], one event more.
    pub fn emit_with<E, F>(mut self, build: F) -> Self
    where
        E: IntoEnvelope,
        F: FnOnce(&ModelOf<A>) -> E + Send + 'e,
    {
        self.events.push(Box::new(|saved, events| events.push(build(saved))));
        self
    }
}

impl<'e, A> Emitting<'e, A>
where
    A: ActiveModelBehavior + Send + 'e,
    ModelOf<A>: IntoActiveModel<A>,
{
    /// Inserts the row, then stages.
    ///
    /// # Errors
    /// As [`ActiveModelTrait::insert`], or as [`Stage::stage`](crate::Stage::stage). Roll back
    /// then: the row may be written.
    pub fn insert<'a, C>(self, db: &'a C) -> Saving<'a, ModelOf<A>>
    where
        'e: 'a,
        C: InTransaction,
    {
        Box::pin(async move {
            let events = Events::open()?;
            let saved = self.active.insert(db).await?;
            staged::<A, C>(self.events, events, saved, db).await
        })
    }

    /// Updates the row, then stages, also if no column was assigned.
    ///
    /// # Errors
    /// As [`ActiveModelTrait::update`], or as [`Stage::stage`](crate::Stage::stage). Roll back
    /// then: the row may be written.
    pub fn update<'a, C>(self, db: &'a C) -> Saving<'a, ModelOf<A>>
    where
        'e: 'a,
        C: InTransaction,
    {
        Box::pin(async move {
            let events = Events::open()?;
            let saved = self.active.update(db).await?;
            staged::<A, C>(self.events, events, saved, db).await
        })
    }

    /// Inserts the row if its primary key is not set, updates it otherwise; then stages.
    ///
    /// # Errors
    /// As [`ActiveModelTrait::save`], or as [`Stage::stage`](crate::Stage::stage). Roll back then:
    /// the row may be written.
    pub fn save<'a, C>(self, db: &'a C) -> Saving<'a, A>
    where
        'e: 'a,
        C: InTransaction,
    {
        let mut key = <A::Entity as EntityTrait>::PrimaryKey::iter();
        let new = key.any(|part| self.active.is_not_set(part.into_column()));
        Box::pin(async move {
            let saved = if new { self.insert(db).await? } else { self.update(db).await? };
            Ok(saved.into_active_model())
        })
    }
}

impl<'e, A: ActiveModelBehavior + Send + 'e> Emitting<'e, A> {
    /// Deletes the row, then stages, from the row as it was. No row, no event.
    ///
    /// # Errors
    /// As [`ActiveModelTrait::delete`], or as [`Stage::stage`](crate::Stage::stage). Roll back
    /// then: the row may be gone.
    pub fn delete<'a, C>(self, db: &'a C) -> Saving<'a, DeleteResult>
    where
        'e: 'a,
        C: InTransaction,
    {
        Box::pin(async move {
            let events = Events::open()?;
            let select = row::locked(&self.active);
            let before = match select {
                Some(select) => select.one(db).await?,
                None => None,
            };
            let deleted = self.active.delete(db).await?;
            if let Some(row) = before.filter(|_| deleted.rows_affected > 0) {
                staged::<A, C>(self.events, events, row, db).await?;
            }
            Ok(deleted)
        })
    }
}

async fn staged<A: ActiveModelTrait, C: InTransaction>(
    builds: Vec<Build<'_, A>>,
    mut events: Events,
    row: ModelOf<A>,
    db: &C,
) -> Result<ModelOf<A>, DbErr> {
    for build in builds {
        build(&row, &mut events)?;
    }
    events.insert(db).await?;
    Ok(row)
}

impl<A: ActiveModelTrait> fmt::Debug for Emitting<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emitting").field("events", &self.events.len()).finish_non_exhaustive()
    }
}
