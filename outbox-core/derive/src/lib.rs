//! The derive macro of `outbox-core`.
//!
//! Use it through the crate that the application depends on: `outbox_core::OutboxEvent` or
//! `outbox_seaorm::OutboxEvent` name the trait and the macro alike.

mod ast;
mod attr;
mod check;
mod expand;
mod field;
mod mistakes;
mod root;

use proc_macro::TokenStream;
use quote::quote;
use syn::{DeriveInput, parse_macro_input};

use crate::mistakes::Mistakes;

/// Implements `OutboxEvent` for a struct or an enum, one event per variant.
///
/// ```
/// use outbox_core::OutboxEvent;
///
/// #[derive(serde::Serialize, OutboxEvent)]
/// #[outbox(type = "orders.order_placed", version = 1, topic = "orders", key = order_id, ordered)]
/// struct OrderPlaced {
///     order_id: i32,
///     total: i64,
/// }
///
/// #[derive(serde::Serialize, OutboxEvent)]
/// #[serde(tag = "kind")]
/// #[outbox(topic = "orders", key = order_id, ordered)]
/// enum OrderEvent {
///     #[outbox(type = "orders.repriced", version = 2)]
///     Repriced { order_id: i32, total: i64 },
///     #[outbox(type = "orders.cancelled")]
///     Cancelled { order_id: i32 },
/// }
///
/// let event = OrderEvent::Repriced { order_id: 7, total: 80 };
/// assert_eq!(event.event_type(), "orders.repriced");
/// assert_eq!(event.key().as_deref(), Some("7"));
/// ```
///
/// | attribute | meaning | without it |
/// |---|---|---|
/// | `type = "…"` | stable wire name, 1 to 128 of `A-Z a-z 0-9 . _ -` | refused |
/// | `version = 1` | version of the payload's schema, 1 to 65535 | 1 |
/// | `topic = "…"` | where it goes, 1 to 256 of `A-Z a-z 0-9 . _ - : /` | refused |
/// | `key = …` | partition key | no key |
/// | `ordered` | events of one key go out one at a time, in order; `ordered = false` on a variant undoes the enum's | unordered |
/// | `tenant = …` | tenant that owns the event | that of the context |
/// | `subject = …` | `CloudEvents` subject | no subject |
/// | `codec = …` | a type that implements `Codec` for the event | `Json`, which asks for `Serialize` |
///
/// On an enum each attribute but `type` is a default that a variant may override. The wire name is
/// written on every struct and every variant, so that renaming the Rust type changes nothing for
/// consumers; within an enum no two variants share type and version.
///
/// The value of `key`, `tenant` and `subject` is a field's name, a tuple field's number, or any
/// expression that implements `Display`. A field of type `Option<…>` gives none when it is `None`.
/// An expression on a struct reads `self`; on an enum it finds the variant's fields bound by
/// reference, those of a tuple variant as `_0`, `_1` and so on. A lone name is always a field:
/// write a constant with its path, as in `key = self::SHARD`.
///
/// A codec encodes the event as a whole, also where the attribute stands on one variant.
///
/// A type parameter needs the bounds that serialization needs, on the type itself:
/// `struct Changed<T: Serialize>`.
///
/// The trait is found through whichever of `outbox-core`, `outbox-seaorm` and `outbox-worker` is
/// named first, in this order, in the `Cargo.toml` of the crate, also under another name.
#[proc_macro_derive(OutboxEvent, attributes(outbox))]
pub fn outbox_event(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let root = root::root();
    let mut mistakes = Mistakes::default();
    let implementation = ast::Event::of(&input, &mut mistakes).and_then(|event| {
        let cases = check::cases(&event)?;
        Ok(expand::implementation(&event, &cases, &root))
    });
    let tokens = mistakes.finish(implementation).unwrap_or_else(|mistakes| {
        let errors = mistakes.into_compile_error();
        // With an implementation in place, every use of the type stays free of further errors.
        let placeholder = expand::placeholder(&input, &root);
        quote!(#errors #placeholder)
    });
    tokens.into()
}
