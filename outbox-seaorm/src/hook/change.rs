//! What happened to a row.

use std::fmt;

use sea_orm::{
    ActiveModelTrait, ActiveValue, EntityTrait, IdenStatic, Iterable, PrimaryKeyToColumn,
};

use crate::hook::aggregate::ReadsBefore;

/// The model of an active model's entity.
pub type ModelOf<A> = <<A as ActiveModelTrait>::Entity as EntityTrait>::Model;

type KeyOf<A> = <<A as ActiveModelTrait>::Entity as EntityTrait>::PrimaryKey;

type ColumnOf<A> = <<A as ActiveModelTrait>::Entity as EntityTrait>::Column;

/// A saved or deleted row.
///
/// There is none for a delete that met no row, and none for an update that assigned nothing.
pub enum Change<'a, A: ActiveModelTrait> {
    /// The row is new; its generated columns are filled in.
    Inserted(&'a ModelOf<A>),
    /// The row was updated.
    #[non_exhaustive]
    Updated {
        /// The row as it is now.
        after: &'a ModelOf<A>,
        /// The row as it was, if that was asked; [`Change::before`] tells.
        #[doc(hidden)]
        before: Option<&'a ModelOf<A>>,
        /// Which columns the update assigned, if that is known.
        #[doc(hidden)]
        assigned: Option<Assigned>,
    },
    /// The row is gone; this is how it was.
    Deleted(&'a ModelOf<A>),
}

impl<A: ActiveModelTrait> Change<'_, A> {
    /// Whether the update assigned this column, be it to the value that it had.
    ///
    /// A column of the primary key says which row is meant, and is never assigned. Where that cannot be known it is true, and so it is for an inserted and a deleted row: at
    /// worst there is an event too many, never one too few.
    pub fn changed(&self, column: ColumnOf<A>) -> bool {
        match self {
            Self::Updated { assigned: Some(assigned), .. } => assigned.contains(column.as_str()),
            _ => true,
        }
    }

    /// The row as it was before: `None` if it is new, always known after an update and a delete.
    ///
    /// Does not compile without `#[outbox_hooks(before)]`, so that no event is left out for want of
    /// the old row; [the attribute](crate::outbox_hooks) has the costs.
    ///
    /// ```
    /// # mod order {
    /// # use outbox_seaorm::{Change, Events, OutboxAggregate, OutboxError, OutboxEvent};
    /// # use outbox_seaorm::outbox_hooks;
    /// # use sea_orm::entity::prelude::*;
    /// # #[derive(serde::Serialize, OutboxEvent)]
    /// # #[outbox(type = "orders.repriced", topic = "orders", key = order_id)]
    /// # struct Repriced { order_id: i32, from: i64, to: i64 }
    /// # #[sea_orm::model]
    /// # #[derive(Clone, Debug, DeriveEntityModel)]
    /// # #[sea_orm(table_name = "orders")]
    /// # pub struct Model { #[sea_orm(primary_key)] pub id: i32, pub total: i64 }
    /// #[outbox_hooks(before)]
    /// impl ActiveModelBehavior for ActiveModel {}
    ///
    /// impl OutboxAggregate for ActiveModel {
    ///     fn outbox_events(change: Change<'_, Self>, out: &mut Events) -> Result<(), OutboxError> {
    ///         match (change.before(), change.model()) {
    ///             (Some(before), order) if before.total != order.total => {
    ///                 out.push(Repriced { order_id: order.id, from: before.total, to: order.total })
    ///             }
    ///             _ => Ok(()),
    ///         }
    ///     }
    /// }
    /// # }
    /// ```
    pub fn before(&self) -> Option<&ModelOf<A>>
    where
        A: ReadsBefore,
    {
        match self {
            Self::Inserted(_) => None,
            Self::Updated { before, .. } => *before,
            Self::Deleted(model) => Some(model),
        }
    }

    /// The row: as it is now, or as it was before it was deleted.
    pub fn model(&self) -> &ModelOf<A> {
        match self {
            Self::Inserted(model) | Self::Deleted(model) | Self::Updated { after: model, .. } => {
                model
            }
        }
    }
}

/// What kind of change; the row is the application's and stays out of logs.
impl<A: ActiveModelTrait> fmt::Debug for Change<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inserted(_) => f.write_str("Inserted(..)"),
            Self::Updated { assigned, .. } => {
                f.debug_struct("Updated").field("assigned", assigned).finish_non_exhaustive()
            }
            Self::Deleted(_) => f.write_str("Deleted(..)"),
        }
    }
}

/// The columns that an update assigned.
#[derive(Clone, Debug)]
pub struct Assigned(Vec<&'static str>);

impl Assigned {
    /// SeaORM puts no column of the primary key into an UPDATE, and sends none without a column.
    pub(super) fn of<A: ActiveModelTrait>(active: &A) -> Self {
        let key: Vec<&str> = KeyOf::<A>::iter().map(|part| part.into_column().as_str()).collect();
        let assigned = |column: &ColumnOf<A>| {
            matches!(active.get(*column), ActiveValue::Set(_)) && !key.contains(&column.as_str())
        };
        Self(ColumnOf::<A>::iter().filter(assigned).map(|column| column.as_str()).collect())
    }

    /// Whether there was nothing to update, so that no UPDATE was sent.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn contains(&self, column: &str) -> bool {
        self.0.contains(&column)
    }
}
