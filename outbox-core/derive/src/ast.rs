//! The derived type as written, with its attributes read.

use proc_macro2::Ident;
use syn::{Attribute, Data, DeriveInput, Error, Fields, Generics};

use crate::attr::{Attributes, is_outbox};
use crate::mistakes::Mistakes;

/// A struct or an enum that is to be an event.
pub(crate) struct Event<'a> {
    pub(crate) name: &'a Ident,
    pub(crate) generics: &'a Generics,
    pub(crate) attributes: Attributes,
    pub(crate) shape: Shape<'a>,
    /// Whether the type or a part of it is marked `#[deprecated]`.
    pub(crate) deprecated: bool,
}

pub(crate) enum Shape<'a> {
    Enum(Vec<Variant<'a>>),
    Struct(&'a Fields),
}

/// A variant of an enum: one event.
pub(crate) struct Variant<'a> {
    pub(crate) name: &'a Ident,
    pub(crate) fields: &'a Fields,
    pub(crate) attributes: Attributes,
}

impl<'a> Event<'a> {
    /// Reads everything, also where something of it is wrong.
    pub(crate) fn of(input: &'a DeriveInput, mistakes: &mut Mistakes) -> syn::Result<Self> {
        let mut attributes = Attributes::of(&input.attrs, mistakes);
        let shape = match &input.data {
            Data::Struct(data) => {
                refuse_on_fields(&data.fields, &mut attributes, mistakes);
                Shape::Struct(&data.fields)
            }
            Data::Enum(data) => {
                refuse_shared_type(&mut attributes, mistakes);
                let variant = |variant| Variant::of(variant, mistakes);
                Shape::Enum(data.variants.iter().map(variant).collect())
            }
            Data::Union(data) => {
                let message = "an outbox event is a struct or an enum, not a union";
                return Err(Error::new(data.union_token.span, message));
            }
        };
        Ok(Self {
            name: &input.ident,
            generics: &input.generics,
            attributes,
            shape,
            deprecated: is_deprecated(input),
        })
    }
}

impl<'a> Variant<'a> {
    fn of(variant: &'a syn::Variant, mistakes: &mut Mistakes) -> Self {
        let mut attributes = Attributes::of(&variant.attrs, mistakes);
        refuse_on_fields(&variant.fields, &mut attributes, mistakes);
        Self { name: &variant.ident, fields: &variant.fields, attributes }
    }
}

/// Every variant is an event of its own, so a wire name for all of them would merge them.
fn refuse_shared_type(attributes: &mut Attributes, mistakes: &mut Mistakes) {
    if let Some(event_type) = &attributes.event_type {
        attributes.flawed = true;
        let message = "`type` stands on each variant, not on the enum: every variant is an event";
        mistakes.add(Error::new(event_type.span(), message));
    }
}

fn refuse_on_fields(fields: &Fields, attributes: &mut Attributes, mistakes: &mut Mistakes) {
    for attribute in fields.iter().flat_map(|field| &field.attrs).filter(|a| is_outbox(a)) {
        attributes.flawed = true;
        let message = "`outbox` stands on a struct, an enum or a variant, not on a field: name \
                       the field there, as in `key = order_id`";
        mistakes.add(Error::new_spanned(attribute, message));
    }
}

fn is_deprecated(input: &DeriveInput) -> bool {
    let marked = |attributes: &[Attribute]| {
        attributes.iter().any(|attribute| attribute.path().is_ident("deprecated"))
    };
    let within = |fields: &Fields| fields.iter().any(|field| marked(&field.attrs));
    marked(&input.attrs)
        || match &input.data {
            Data::Struct(data) => within(&data.fields),
            Data::Enum(data) => data.variants.iter().any(|v| marked(&v.attrs) || within(&v.fields)),
            Data::Union(_) => false,
        }
}
