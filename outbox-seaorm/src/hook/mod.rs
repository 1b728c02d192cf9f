//! Events that follow from the saves of an entity.

mod aggregate;
mod change;
mod guard;
pub(crate) mod row;
mod run;
mod stash;

pub use aggregate::{Aggregate, HasOutboxHooks, OutboxAggregate, ReadsBefore};
pub use change::{Change, ModelOf};
pub use guard::trust_transaction_type;
pub use run::Hooks;
