//! Events beside the save of an entity that declares none.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use outbox_core::{IntoEnvelope, StagedMessage};
use sea_orm::{
    ActiveModelBehavior, ActiveModelTrait, ConnectionTrait, DbErr, DeleteResult, EntityTrait,
    IntoActiveModel, Iterable, PrimaryKeyToColumn,
};

use crate::error::{OutboxError, WriteKind, Written};
use crate::events::{Events, insert_beside};
use crate::hook::{ModelOf, row};
use crate::stage::InTransaction;

/// What a call on a connection answers.
///
/// It is boxed, as `SeaORM`'s own are: the compiler reports a connection that is no transaction
/// once, and for a nameless future it does so three times.
pub type Saving<'a, T> = Pin<Box<dyn Future<Output = Result<T, DbErr>> + Send + 'a>>;

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
/// With hooks of its own the entity stages first, in a statement of its own. An `ActiveModelEx` saves
/// related rows as well: its events are staged after the call, with
/// [`Stage::stage`](crate::Stage::stage).
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
    ///
    /// It is encoded before: if that fails, nothing is written.
    fn emit<'e, E>(self, event: E) -> Emitting<'e, Self>
    where
        E: IntoEnvelope + Send + 'e,
    {
        Emitting { active: self, events: Vec::new() }.emit(event)
    }

    /// Stages the event that is built from the saved row, with what the database put into it.
    ///
    /// If it cannot be encoded, the row is written already, and the error says to roll it back.
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
    events: Vec<Before<'e, A>>,
}

/// Before the write: encodes an event that is known by then, and says how to go on after it.
type Before<'e, A> = Box<dyn FnOnce(&Events) -> Result<After<'e, A>, OutboxError> + Send + 'e>;

/// After the write: the message, made from the saved row or before.
type After<'e, A> =
    Box<dyn FnOnce(&ModelOf<A>, &Events) -> Result<StagedMessage, OutboxError> + Send + 'e>;

impl<'e, A: ActiveModelTrait> Emitting<'e, A> {
    /// As [`Emit::emit`], one event more.
    pub fn emit<E>(mut self, event: E) -> Self
    where
        E: IntoEnvelope + Send + 'e,
    {
        self.events.push(Box::new(|events| {
            let message = events.encode(event)?;
            Ok(Box::new(|_, _| Ok(message)))
        }));
        self
    }

    /// As [`Emit::emit_with`], one event more.
    pub fn emit_with<E, F>(mut self, build: F) -> Self
    where
        E: IntoEnvelope,
        F: FnOnce(&ModelOf<A>) -> E + Send + 'e,
    {
        let after: After<'e, A> = Box::new(|saved, events| events.encode(build(saved)));
        self.events.push(Box::new(|_| Ok(after)));
        self
    }
}

/// An active model whose save writes one row, which an event can be built from.
///
/// It is every `ActiveModel`, and no `ActiveModelEx`: that one saves related rows after its own, so
/// that there is no saved row yet when it is due.
#[diagnostic::on_unimplemented(
    message = "`{Self}` saves related rows after its own: an event beside it would come too early",
    label = "stage the event after this call",
    note = "write `let saved = model.insert(&txn).await?;`, then `txn.stage(..).await?`"
)]
pub trait SavesOneRow: ActiveModelTrait + 'static {
    #[doc(hidden)]
    fn insert_row<C: ConnectionTrait>(self, db: &C) -> Saving<'_, ModelOf<Self>>;

    #[doc(hidden)]
    fn update_row<C: ConnectionTrait>(self, db: &C) -> Saving<'_, ModelOf<Self>>;

    #[doc(hidden)]
    fn delete_row<C: ConnectionTrait>(self, db: &C) -> Saving<'_, DeleteResult>;

    #[doc(hidden)]
    fn of_row(row: ModelOf<Self>) -> Self;
}

impl<A: ActiveModelBehavior + Send + 'static> SavesOneRow for A
where
    ModelOf<A>: IntoActiveModel<A>,
{
    fn insert_row<C: ConnectionTrait>(self, db: &C) -> Saving<'_, ModelOf<A>> {
        self.insert(db)
    }

    fn update_row<C: ConnectionTrait>(self, db: &C) -> Saving<'_, ModelOf<A>> {
        self.update(db)
    }

    fn delete_row<C: ConnectionTrait>(self, db: &C) -> Saving<'_, DeleteResult> {
        self.delete(db)
    }

    fn of_row(row: ModelOf<A>) -> A {
        row.into_active_model()
    }
}

impl<'e, A: ActiveModelTrait + Send + 'e> Emitting<'e, A> {
    /// Inserts the row, then stages.
    ///
    /// # Errors
    /// As [`ActiveModelTrait::insert`], or as [`Stage::stage`](crate::Stage::stage). Roll back
    /// then: the row may be written.
    pub fn insert<'a, C>(self, db: &'a C) -> Saving<'a, ModelOf<A>>
    where
        'e: 'a,
        A: SavesOneRow,
        C: InTransaction,
    {
        Box::pin(async move {
            let events = Prepared::<A>::new(self.events)?;
            let saved = self.active.insert_row(db).await?;
            events.stage(WriteKind::Insert, saved, db).await
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
        A: SavesOneRow,
        C: InTransaction,
    {
        Box::pin(async move {
            let events = Prepared::<A>::new(self.events)?;
            let saved = self.active.update_row(db).await?;
            events.stage(WriteKind::Update, saved, db).await
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
        A: SavesOneRow,
        C: InTransaction,
    {
        let mut key = <A::Entity as EntityTrait>::PrimaryKey::iter();
        let new = key.any(|part| self.active.is_not_set(part.into_column()));
        Box::pin(async move {
            let saved = if new { self.insert(db).await? } else { self.update(db).await? };
            Ok(A::of_row(saved))
        })
    }

    /// Deletes the row, then stages, from the row as it was. No row, no event.
    ///
    /// # Errors
    /// As [`ActiveModelTrait::delete`], or as [`Stage::stage`](crate::Stage::stage). Roll back
    /// then: the row may be gone.
    pub fn delete<'a, C>(self, db: &'a C) -> Saving<'a, DeleteResult>
    where
        'e: 'a,
        A: SavesOneRow,
        C: InTransaction,
    {
        Box::pin(async move {
            let events = Prepared::<A>::new(self.events)?;
            let before = row::locked_before(WriteKind::Delete, &self.active, db).await?;
            let deleted = self.active.delete_row(db).await?;
            if let Some(row) = before.filter(|_| deleted.rows_affected > 0) {
                events.stage(WriteKind::Delete, row, db).await?;
            }
            Ok(deleted)
        })
    }
}

/// The events of a write that is about to happen.
struct Prepared<'e, A: ActiveModelTrait> {
    events: Events,
    messages: Vec<After<'e, A>>,
}

impl<'e, A: ActiveModelTrait> Prepared<'e, A> {
    fn new(emitted: Vec<Before<'e, A>>) -> Result<Self, OutboxError> {
        let events = Events::open()?;
        let messages = emitted.into_iter().map(|event| event(&events)).collect::<Result<_, _>>()?;
        Ok(Self { events, messages })
    }

    /// Stages all of them, in the order in which they were added.
    async fn stage<C: InTransaction>(
        self,
        write: WriteKind,
        row: ModelOf<A>,
        db: &C,
    ) -> Result<ModelOf<A>, DbErr> {
        let events = self.with_row(&row);
        insert_beside(Written::of::<A>(write), events, db).await?;
        Ok(row)
    }

    fn with_row(self, row: &ModelOf<A>) -> Result<Events, OutboxError> {
        let Self { mut events, messages } = self;
        for message in messages {
            let message = message(row, &events)?;
            events.push_encoded(message);
        }
        Ok(events)
    }
}

impl<A: ActiveModelTrait> fmt::Debug for Emitting<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emitting").field("events", &self.events.len()).finish_non_exhaustive()
    }
}
