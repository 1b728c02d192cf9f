//! The four hooks with the outbox around the application's bodies.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{
    Block, Error, FnArg, ImplItem, ImplItemFn, ItemImpl, Pat, ReturnType, Stmt, parse_quote,
};

use crate::check::{behavior, is_async_trait};

const HOOKS: [&str; 4] = ["before_save", "after_save", "before_delete", "after_delete"];

/// The hooks with the outbox in them, and the mark that `OutboxAggregate` asks for.
pub(crate) fn with_outbox(mut item: ItemImpl, root: &TokenStream, before: bool) -> TokenStream {
    for name in HOOKS {
        if !item.items.iter().any(|it| matches!(it, ImplItem::Fn(hook) if hook.sig.ident == name)) {
            item.items.push(ImplItem::Fn(untouched(name, root)));
        }
    }
    for part in &mut item.items {
        if let ImplItem::Fn(hook) = part {
            rewrite(hook, root);
        }
    }
    let marked = marked(&item, root, before);
    quote! {
        #[#root::async_trait]
        #item
        #marked
    }
}

/// The error, and the item as it was, so that nothing else is reported.
pub(crate) fn refused(item: &ItemImpl, root: &TokenStream, error: &Error) -> TokenStream {
    let error = error.to_compile_error();
    if behavior(item).is_err() {
        return quote!(#error #item);
    }
    let mut item = item.clone();
    item.attrs.retain(|attribute| !is_async_trait(attribute));
    // As if the old row were asked for, so that nothing is said about its use.
    let marked = marked(&item, root, true);
    quote! {
        #error
        #[#root::async_trait]
        #item
        #marked
    }
}

fn marked(item: &ItemImpl, root: &TokenStream, before: bool) -> TokenStream {
    let model = &item.self_ty;
    let (generics, _, bounds) = item.generics.split_for_impl();
    let reads_before =
        before.then(|| quote!(impl #generics #root::ReadsBefore for #model #bounds {}));
    quote! {
        impl #generics #root::HasOutboxHooks for #model #bounds {
            const AGGREGATE: #root::Aggregate<Self> = #root::Aggregate::of(#before);
        }
        #reads_before
    }
}

/// A hook that the application did not write.
fn untouched(name: &str, root: &TokenStream) -> ImplItemFn {
    let hook = Ident::new(name, Span::call_site());
    let saved = quote!(<<Self as #root::ActiveModelTrait>::Entity as #root::EntityTrait>::Model);
    let (first, inputs, output) = match name {
        "before_save" => (quote!(self), quote!(, _: bool), quote!(Self)),
        "after_save" => (quote!(model: #saved), quote!(, _: bool), saved),
        _ => (quote!(self), quote!(), quote!(Self)),
    };
    let value = if name == "after_save" { quote!(model) } else { quote!(self) };
    parse_quote! {
        async fn #hook<C>(#first, _: &C #inputs) -> ::core::result::Result<#output, #root::DbErr>
        where
            C: #root::ConnectionTrait,
        {
            ::core::result::Result::Ok(#value)
        }
    }
}

fn rewrite(hook: &mut ImplItemFn, root: &TokenStream) {
    let name = hook.sig.ident.to_string();
    if !HOOKS.contains(&name.as_str()) {
        return;
    }
    let body = application(hook);
    let hooks = quote!(#root::Hooks::<Self>);
    hook.block = match name.as_str() {
        "before_save" => parse_quote!({
            #hooks::guard_save(__outbox_db, __outbox_insert)?;
            #body
            #hooks::before_save(__outbox_done?, __outbox_db, __outbox_insert).await
        }),
        "after_save" => parse_quote!({
            let __outbox_saved = #hooks::saved(&__outbox_model, __outbox_db, __outbox_insert);
            #body
            #hooks::after_save(__outbox_done?, __outbox_db, __outbox_saved).await
        }),
        "before_delete" => parse_quote!({
            #hooks::guard_delete(__outbox_db)?;
            #body
            #hooks::before_delete(__outbox_done?, __outbox_db).await
        }),
        _ => parse_quote!({
            let __outbox_deleted = #hooks::deleted(&self, __outbox_db);
            #body
            #hooks::after_delete(__outbox_done?, __outbox_db, __outbox_deleted).await
        }),
    };
}

/// The application's body in a block of its own, so that its `return` and `?` end the body alone.
///
/// The arguments are renamed and handed on under the application's patterns.
fn application(hook: &mut ImplItemFn) -> TokenStream {
    let names: &[&str] = match hook.sig.inputs.len() {
        2 => &["__outbox_db"],
        _ if hook.sig.receiver().is_some() => &["__outbox_db", "__outbox_insert"],
        _ => &["__outbox_model", "__outbox_db", "__outbox_insert"],
    };
    let arguments = hook.sig.inputs.iter_mut().filter_map(|input| match input {
        FnArg::Typed(argument) => Some(&mut *argument.pat),
        FnArg::Receiver(_) => None,
    });
    let handed: Vec<Stmt> =
        arguments.zip(names).map(|(pattern, name)| hand_on(pattern, name)).collect();
    let Block { stmts, .. } = &hook.block;
    let result = match &hook.sig.output {
        ReturnType::Type(_, result) => quote!(#result),
        ReturnType::Default => quote!(()),
    };
    quote! {
        let __outbox_done: #result = async move {
            #(#handed)*
            #(#stmts)*
        }
        .await;
    }
}

fn hand_on(pattern: &mut Pat, name: &str) -> Stmt {
    let name = Ident::new(name, Span::call_site());
    let applications = std::mem::replace(pattern, parse_quote!(#name));
    parse_quote!(let #applications = #name;)
}
