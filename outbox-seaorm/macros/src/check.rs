//! What the attribute may stand on.

use proc_macro2::{Ident, TokenStream};
use syn::{Attribute, Error, FnArg, ImplItem, ImplItemFn, ItemImpl, Result, ReturnType};

/// The item, if the hooks can be put into it.
pub(crate) fn checked(mut item: ItemImpl) -> Result<ItemImpl> {
    behavior(&item)?;
    item.attrs.retain(|attribute| !is_async_trait(attribute));
    for hook in item.items.iter().filter_map(hook) {
        unconditional(hook)?;
        signature(hook)?;
    }
    Ok(item)
}

/// Whether the old row is asked for, which is all that can be.
pub(crate) fn asks_before(arguments: &TokenStream) -> Result<bool> {
    if arguments.is_empty() {
        return Ok(false);
    }
    match syn::parse2::<Ident>(arguments.clone()) {
        Ok(argument) if argument == "before" => Ok(true),
        _ => Err(Error::new_spanned(arguments, "outbox_hooks takes `before` or nothing")),
    }
}

/// Whether an attribute is `async_trait`, under whatever path.
pub(crate) fn is_async_trait(attribute: &Attribute) -> bool {
    attribute.path().segments.last().is_some_and(|segment| segment.ident == "async_trait")
}

/// Whether the item implements the trait with the hooks.
pub(crate) fn behavior(item: &ItemImpl) -> Result<()> {
    let name = item.trait_.as_ref().and_then(|(_, path, _)| path.segments.last());
    if name.is_none_or(|segment| segment.ident != "ActiveModelBehavior") {
        let message = "outbox_hooks goes on `impl ActiveModelBehavior for ActiveModel`";
        return Err(Error::new_spanned(&item.self_ty, message));
    }
    Ok(())
}

fn hook(item: &ImplItem) -> Option<&ImplItemFn> {
    match item {
        ImplItem::Fn(function) if expected(function).is_some() => Some(function),
        _ => None,
    }
}

/// How a hook is written.
fn expected(function: &ImplItemFn) -> Option<&'static str> {
    Some(match function.sig.ident.to_string().as_str() {
        "before_save" => "(self, db: &C, insert: bool)",
        "after_save" => "(model: Model, db: &C, insert: bool)",
        "before_delete" | "after_delete" => "(self, db: &C)",
        _ => return None,
    })
}

/// Macros see a hook before its `cfg` is decided: left out later, it would take the outbox along.
fn unconditional(hook: &ImplItemFn) -> Result<()> {
    let is_cfg = |it: &&Attribute| it.path().is_ident("cfg") || it.path().is_ident("cfg_attr");
    match hook.attrs.iter().find(is_cfg) {
        Some(attribute) => {
            let message = "a hook that is left out would take the outbox along: put the `cfg` \
                           inside of its body";
            Err(Error::new_spanned(attribute, message))
        }
        None => Ok(()),
    }
}

fn signature(hook: &ImplItemFn) -> Result<()> {
    let Some(expected) = expected(hook) else { return Ok(()) };
    let signature = &hook.sig;
    if signature.asyncness.is_none() {
        let message = "write the hook as `async fn`, and `#[outbox_hooks]` above `#[async_trait]` \
                       or without it";
        return Err(Error::new_spanned(signature, message));
    }
    let receivers = signature.inputs.iter().filter(|it| matches!(it, FnArg::Receiver(_))).count();
    let wanted = expected.split(',').count();
    let with_self = usize::from(expected.starts_with("(self"));
    let fits = signature.inputs.len() == wanted && receivers == with_self;
    if !fits || matches!(signature.output, ReturnType::Default) {
        let message = format!("this hook takes `{expected}` and returns a `Result`");
        return Err(Error::new_spanned(signature, message));
    }
    Ok(())
}
