//! The attribute macro of `outbox-seaorm`. Use it through that crate.

mod check;
mod expand;
mod root;

use proc_macro::TokenStream;
use syn::{ItemImpl, parse_macro_input};

/// Stages the events of an aggregate whenever `SeaORM` saves or deletes it.
///
/// Goes on the entity's `impl ActiveModelBehavior for ActiveModel`, also on an empty one. Hooks of
/// the application keep their bodies and run as before:
///
/// | hook | what happens around the application's body |
/// |---|---|
/// | `before_save`, `before_delete` | before it: anything but a transaction is refused, nothing was written |
/// | `before_save` of an update | after it: the old row is read and locked, with `#[outbox_hooks(before)]` |
/// | `before_save` of an insert | after it: on MariaDB and MySQL a row with a composite key is looked up, because SeaORM's insert of junction rows does nothing if it is there |
/// | `before_delete` | after it: the row is read, and locked where the database has row locks |
/// | `after_save`, `after_delete` | after it: the events are staged, from the model it returned |
///
/// `#[outbox_hooks(before)]` makes `Change::before` tell an update's old row. It costs one
/// `SELECT … FOR UPDATE` before each `UPDATE`, as a delete costs in any case. The role needs the
/// privileges `SELECT` and `UPDATE` for it. On SQLite an empty write comes first in place of the lock.
///
/// Which events, `OutboxAggregate` says; without an implementation the attribute does not compile.
/// It adds `#[async_trait]` itself.
#[proc_macro_attribute]
pub fn outbox_hooks(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as ItemImpl);
    let root = root::root();
    let before = check::asks_before(&arguments.into());
    let checked = check::checked(item.clone());
    let hooks = match (before, checked) {
        (Ok(before), Ok(item)) => expand::with_outbox(item, &root, before),
        (Err(error), _) | (_, Err(error)) => expand::refused(&item, &root, &error),
    };
    hooks.into()
}
