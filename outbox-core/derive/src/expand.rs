//! The generated implementation. It cannot fail.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::{Data, DeriveInput, Member};

use crate::ast::Event;
use crate::check::{Case, Text};

pub(crate) fn implementation(
    event: &Event<'_>,
    cases: &[Case<'_>],
    root: &TokenStream,
) -> TokenStream {
    let name = event.name;
    let (parameters, arguments, bounds) = event.generics.split_for_impl();
    let event_type = select(cases, |case| &case.event_type);
    let version = select(cases, |case| &case.version);
    let topic = select(cases, |case| &case.topic);
    let ordered = select(cases, |case| &case.ordered);
    let key = texts(cases, |case| case.key.as_ref());
    let tenant = texts(cases, |case| case.tenant.as_ref());
    let subject = texts(cases, |case| case.subject.as_ref());
    let payload = payload(cases, root);
    let text = quote!(::core::option::Option<::std::string::String>);
    // What an application deprecates must not make the generated code warn.
    let lenient = event.deprecated.then(|| quote!(#[allow(deprecated)]));
    quote! {
        #[automatically_derived]
        #lenient
        impl #parameters #root::OutboxEvent for #name #arguments #bounds {
            fn event_type(&self) -> &'static str { #event_type }
            fn event_version(&self) -> u16 { #version }
            fn topic(&self) -> &'static str { #topic }
            fn payload(&self) -> ::core::result::Result<#root::Payload, #root::PayloadError> {
                #payload
            }
            fn key(&self) -> #text { #key }
            fn ordered(&self) -> bool { #ordered }
            fn tenant(&self) -> #text { #tenant }
            fn subject(&self) -> #text { #subject }
        }
    }
}

/// An implementation that stands beside errors, so that they are the only ones.
///
/// A union has none: it cannot be serialized either.
pub(crate) fn placeholder(input: &DeriveInput, root: &TokenStream) -> TokenStream {
    if matches!(input.data, Data::Union(_)) {
        return TokenStream::new();
    }
    let name = &input.ident;
    let (parameters, arguments, bounds) = input.generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #parameters #root::OutboxEvent for #name #arguments #bounds {
            fn event_type(&self) -> &'static str { "" }
            fn topic(&self) -> &'static str { "" }
            fn payload(&self) -> ::core::result::Result<#root::Payload, #root::PayloadError> {
                ::core::unreachable!()
            }
        }
    }
}

/// Chooses a value by the case that an event is.
fn select<'a, T: quote::ToTokens + 'a>(
    cases: &'a [Case<'a>],
    value: impl Fn(&'a Case<'a>) -> &'a T,
) -> TokenStream {
    choose(cases.iter().map(|case| {
        let (pattern, value) = (case.pattern(), value(case));
        quote!(#pattern { .. } => #value)
    }))
}

/// Encodes the event as a whole, whatever the codec of the case.
fn payload(cases: &[Case<'_>], root: &TokenStream) -> TokenStream {
    let json = quote!(#root::Payload::encode::<#root::Json, Self>(self));
    if cases.iter().all(|case| case.codec.is_none()) {
        return json;
    }
    choose(cases.iter().map(|case| {
        let pattern = case.pattern();
        match case.codec {
            None => quote!(#pattern { .. } => #json),
            // The user's span makes a codec that does not fit an error at the attribute.
            Some(codec) => {
                let span = syn::spanned::Spanned::span(codec);
                let encoded = quote_spanned!(span=> #root::Payload::encode::<#codec, Self>(self));
                quote!(#pattern { .. } => #encoded)
            }
        }
    }))
}

fn texts<'a>(
    cases: &'a [Case<'a>],
    text: impl Fn(&'a Case<'a>) -> Option<&'a Text<'a>>,
) -> TokenStream {
    if cases.iter().all(|case| text(case).is_none()) {
        return quote!(::core::option::Option::None);
    }
    choose(cases.iter().map(|case| text_arm(case, text(case))))
}

fn choose(arms: impl ExactSizeIterator<Item = TokenStream>) -> TokenStream {
    if arms.len() == 0 {
        // A reference to an empty enum can be matched only behind the reference.
        return quote!(match *self {});
    }
    quote!(match self { #(#arms,)* })
}

fn text_arm(case: &Case<'_>, text: Option<&Text<'_>>) -> TokenStream {
    let pattern = case.pattern();
    match text {
        None => quote!(#pattern { .. } => ::core::option::Option::None),
        // The user's span makes a type that cannot be shown an error at the attribute.
        Some(Text::Field { member, optional, span }) => {
            let shown = if *optional {
                quote_spanned! {*span=>
                    ::core::option::Option::as_ref(__value).map(::std::string::ToString::to_string)
                }
            } else {
                quote_spanned! {*span=>
                    ::core::option::Option::Some(::std::string::ToString::to_string(__value))
                }
            };
            let value = quote_spanned!(*span=> __value);
            quote!(#pattern { #member: #value, .. } => #shown)
        }
        Some(Text::Expression(expression)) => {
            let bindings = case.bindings();
            let span = syn::spanned::Spanned::span(expression);
            let shown = quote_spanned! {span=>
                ::core::option::Option::Some(::std::string::ToString::to_string(&(#expression)))
            };
            quote!(#pattern { #(#bindings,)* .. } => #shown)
        }
    }
}

impl Case<'_> {
    fn pattern(&self) -> TokenStream {
        self.variant.map_or_else(|| quote!(Self), |variant| quote!(Self::#variant))
    }

    /// Binds the fields that an expression may name; on a struct it goes through `self`.
    fn bindings(&self) -> Vec<TokenStream> {
        if self.variant.is_none() {
            return Vec::new();
        }
        let bound = |member| match member {
            Member::Named(name) => quote!(#name),
            Member::Unnamed(index) => {
                let name = format_ident!("_{}", index.index);
                quote!(#index: #name)
            }
        };
        self.fields.members().map(bound).collect()
    }
}
