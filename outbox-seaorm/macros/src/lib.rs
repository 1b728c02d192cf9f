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
/// | `before_delete` | after it: the row is read, and locked where the database has row locks |
/// | `after_save`, `after_delete` | after it: the events are staged, from the model it returned |
///
/// Which events, `OutboxAggregate` says; without an implementation the attribute does not compile.
/// It adds `#[async_trait]` itself.
#[proc_macro_attribute]
pub fn outbox_hooks(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as ItemImpl);
    let root = root::root();
    let hooks = match check::checked(&arguments.into(), item.clone()) {
        Ok(item) => expand::with_outbox(item, &root),
        Err(error) => expand::refused(&item, &root, &error),
    };
    hooks.into()
}
