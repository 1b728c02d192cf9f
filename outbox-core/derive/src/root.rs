//! Under which name the using crate knows the trait.

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

/// Packages that offer the trait at their root.
const PACKAGES: [&str; 3] = ["outbox-core", "outbox-seaorm", "outbox-worker"];

/// Path of the crate that offers the trait, as the using crate names it.
pub(crate) fn root() -> TokenStream {
    // Without a readable Cargo.toml, as under other build systems, the trait's own crate is named.
    let name = PACKAGES.into_iter().find_map(dependency).unwrap_or_else(|| "outbox_core".into());
    let name = Ident::new(&name, Span::call_site());
    quote!(::#name)
}

fn dependency(package: &str) -> Option<String> {
    match crate_name(package).ok()? {
        // Each of our packages names itself, so that its own tests and examples work as well.
        FoundCrate::Itself => Some(package.replace('-', "_")),
        FoundCrate::Name(name) => Some(name),
    }
}
