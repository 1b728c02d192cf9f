//! Under which name the using crate knows `outbox-seaorm`.

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

/// Path of what the generated code calls.
pub(crate) fn root() -> TokenStream {
    let name = match crate_name("outbox-seaorm") {
        Ok(FoundCrate::Name(name)) => name,
        // The package itself, whose tests and examples see it by its name, or a build system
        // without a readable Cargo.toml.
        Ok(FoundCrate::Itself) | Err(_) => "outbox_seaorm".into(),
    };
    let name = Ident::new(&name, Span::call_site());
    quote!(::#name::__private)
}
