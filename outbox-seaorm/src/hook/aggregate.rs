//! What an entity says about its events.

use sea_orm::ActiveModelTrait;

use crate::error::OutboxError;
use crate::events::Events;
use crate::hook::change::Change;

/// Says which events the changes of an entity stage.
///
/// It goes together with [`#[outbox_hooks]`](crate::outbox_hooks) on the same active model, and
/// neither compiles without the other, so no event is lost for want of a line:
///
/// ```compile_fail,E0277
/// # mod order {
/// # use outbox_seaorm::{Change, Events, OutboxAggregate, OutboxError};
/// # use sea_orm::entity::prelude::*;
/// # #[sea_orm::model]
/// # #[derive(Clone, Debug, DeriveEntityModel)]
/// # #[sea_orm(table_name = "orders")]
/// # pub struct Model { #[sea_orm(primary_key)] pub id: i32 }
/// impl ActiveModelBehavior for ActiveModel {} // error: `#[outbox_hooks]` is missing
///
/// impl OutboxAggregate for ActiveModel {
///     fn outbox_events(_: Change<'_, Self>, _: &mut Events) -> Result<(), OutboxError> {
///         Ok(())
///     }
/// }
/// # }
/// ```
///
/// ```compile_fail,E0277
/// # mod order {
/// # use sea_orm::entity::prelude::*;
/// # #[sea_orm::model]
/// # #[derive(Clone, Debug, DeriveEntityModel)]
/// # #[sea_orm(table_name = "orders")]
/// # pub struct Model { #[sea_orm(primary_key)] pub id: i32 }
/// #[outbox_seaorm::outbox_hooks]
/// impl ActiveModelBehavior for ActiveModel {} // error: `impl OutboxAggregate` is missing
/// # }
/// ```
///
/// With both it does:
///
/// ```
/// # mod order {
/// # use outbox_seaorm::{Change, Events, OutboxAggregate, OutboxError};
/// # use sea_orm::entity::prelude::*;
/// # #[sea_orm::model]
/// # #[derive(Clone, Debug, DeriveEntityModel)]
/// # #[sea_orm(table_name = "orders")]
/// # pub struct Model { #[sea_orm(primary_key)] pub id: i32 }
/// #[outbox_seaorm::outbox_hooks]
/// impl ActiveModelBehavior for ActiveModel {}
///
/// impl OutboxAggregate for ActiveModel {
///     fn outbox_events(_: Change<'_, Self>, _: &mut Events) -> Result<(), OutboxError> {
///         Ok(())
///     }
/// }
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has `#[outbox_hooks]` but no `impl OutboxAggregate`",
    label = "which events its changes stage is not said",
    note = "write `impl OutboxAggregate for ActiveModel {{ fn outbox_events(..) .. }}`"
)]
pub trait OutboxAggregate: HasOutboxHooks {
    /// Pushes the events of one change. All of them are staged with one insert.
    ///
    /// It runs after the write, inside of its transaction, and must not depend on anything but the
    /// change: a save has no way to wait for it.
    ///
    /// # Errors
    /// Fails the save; [`OutboxError::aggregate`] wraps a reason of the application's own.
    fn outbox_events(change: Change<'_, Self>, out: &mut Events) -> Result<(), OutboxError>;
}

/// The mark that `#[outbox_hooks]` leaves.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "the events of `{Self}` would never be staged: `#[outbox_hooks]` is missing",
    label = "no hook calls this",
    note = "put `#[outbox_hooks]` on `impl ActiveModelBehavior for ActiveModel`"
)]
pub trait HasOutboxHooks: ActiveModelTrait {
    /// The one way to the aggregate: so a missing implementation is one error and not one for each
    /// hook.
    const AGGREGATE: Aggregate<Self>;
}

/// What an aggregate says.
#[doc(hidden)]
#[derive(Debug)]
pub struct Aggregate<A: ActiveModelTrait> {
    pub(super) reads_before: bool,
    pub(super) events: fn(Change<'_, A>, &mut Events) -> Result<(), OutboxError>,
}

impl<A: HasOutboxHooks> Aggregate<A> {
    /// What this one says.
    pub const fn of(reads_before: bool) -> Self
    where
        A: OutboxAggregate,
    {
        Self { reads_before, events: A::outbox_events }
    }
}

/// The mark of `#[outbox_hooks(before)]`.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "no hook reads the old row of `{Self}`: `#[outbox_hooks(before)]` is missing",
    label = "this would be unknown after an update",
    note = "write `#[outbox_hooks(before)]`, for one `SELECT .. FOR UPDATE` more with each update"
)]
pub trait ReadsBefore: HasOutboxHooks {}
