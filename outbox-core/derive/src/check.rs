//! Whether what was written makes an event.

use std::collections::HashMap;

use proc_macro2::{Ident, Span};
use syn::spanned::Spanned;
use syn::{Error, Expr, Fields, LitStr, Member, Type};

use crate::ast::{Event, Shape, Variant};
use crate::attr::{Attributes, Ordered};
use crate::field;
use crate::mistakes::Mistakes;

/// One event: a struct or a variant, with all defaults resolved.
pub(crate) struct Case<'a> {
    /// `None` for a struct.
    pub(crate) variant: Option<&'a Ident>,
    pub(crate) fields: &'a Fields,
    pub(crate) event_type: &'a LitStr,
    pub(crate) version: u16,
    pub(crate) topic: &'a LitStr,
    pub(crate) ordered: bool,
    pub(crate) key: Option<Text<'a>>,
    pub(crate) tenant: Option<Text<'a>>,
    pub(crate) subject: Option<Text<'a>>,
    /// `None` for JSON.
    pub(crate) codec: Option<&'a Type>,
}

/// Where a text comes from.
pub(crate) enum Text<'a> {
    Expression(&'a Expr),
    Field { member: Member, optional: bool, span: Span },
}

type Pick = for<'b> fn(&'b Attributes) -> Option<&'b Expr>;

const KEY: (&str, Pick) = ("key", |attributes| attributes.key.as_ref());
const TENANT: (&str, Pick) = ("tenant", |attributes| attributes.tenant.as_ref());
const SUBJECT: (&str, Pick) = ("subject", |attributes| attributes.subject.as_ref());

/// The events that are whole. Where a mistake is told already, nothing more is told.
pub(crate) fn cases<'a>(event: &'a Event<'a>) -> syn::Result<Vec<Case<'a>>> {
    if event.attributes.flawed {
        return Ok(Vec::new());
    }
    let candidates: Vec<_> = match &event.shape {
        Shape::Struct(fields) => vec![Candidate {
            name: event.name,
            variant: None,
            fields,
            own: &event.attributes,
            shared: None,
        }],
        Shape::Enum(variants) => {
            // A default that fits no variant is one mistake, not one per variant.
            check_defaults(event, variants)?;
            let sound = variants.iter().filter(|variant| !variant.attributes.flawed);
            sound.map(|variant| Candidate::of(variant, &event.attributes)).collect()
        }
    };
    let mut mistakes = Mistakes::default();
    let cases: Vec<_> =
        candidates.iter().filter_map(|candidate| mistakes.keep(candidate.case())).collect();
    refuse_twins(&cases, &mut mistakes);
    mistakes.finish(Ok(cases))
}

fn check_defaults(event: &Event<'_>, variants: &[Variant<'_>]) -> syn::Result<()> {
    let mut mistakes = Mistakes::default();
    let shared = &event.attributes;
    let nowhere = |given: fn(&Attributes) -> bool| {
        let given = |attributes: &Attributes| attributes.flawed || given(attributes);
        !given(shared) && !variants.iter().any(|variant| given(&variant.attributes))
    };
    if !variants.is_empty() && nowhere(|attributes| attributes.topic.is_some()) {
        let message = format!("`{}` has no `topic`: add #[outbox(topic = \"orders\")]", event.name);
        mistakes.add(Error::new(event.name.span(), message));
    }
    if let Some(Ordered { value: true, span }) = shared.ordered
        && nowhere(|attributes| attributes.key.is_some())
    {
        mistakes.add(Error::new(span, "`ordered` needs a `key`: what the order is kept for"));
    }
    for (what, pick) in [KEY, TENANT, SUBJECT] {
        if let Some(expression) = pick(shared) {
            let relying = variants.iter().filter(|variant| pick(&variant.attributes).is_none());
            mistakes.keep(check_shared_field(what, expression, relying.map(|v| v.fields)));
        }
    }
    mistakes.finish(Ok(()))
}

/// Refuses a default that names a field which none of the variants that rely on it has.
fn check_shared_field<'a>(
    what: &str,
    expression: &Expr,
    relying: impl Iterator<Item = &'a Fields>,
) -> syn::Result<()> {
    let Some(member) = field::member(expression) else { return Ok(()) };
    let mut members = Vec::new();
    let mut relied_on = false;
    for fields in relying {
        relied_on = true;
        members.extend(fields.members());
    }
    if !relied_on || members.contains(&member) {
        return Ok(());
    }
    let message = format!(
        "no variant has a field `{}` for `{what}`: {}",
        field::name(&member),
        field::listed(members)
    );
    Err(Error::new(expression.span(), message))
}

/// A consumer tells events apart by type and version.
fn refuse_twins(cases: &[Case<'_>], mistakes: &mut Mistakes) {
    let mut known = HashMap::new();
    for case in cases {
        let wire = (case.event_type.value(), case.version);
        if let Some(Some(first)) = known.insert(wire, case.variant) {
            let message = format!(
                "variant `{first}` has this type with version {} as well: give one of them \
                 another `type` or `version`",
                case.version
            );
            mistakes.add(Error::new(case.event_type.span(), message));
        }
    }
}

/// A struct or variant that is not yet known to be a whole event.
struct Candidate<'a> {
    name: &'a Ident,
    variant: Option<&'a Ident>,
    fields: &'a Fields,
    own: &'a Attributes,
    /// Those of the enum.
    shared: Option<&'a Attributes>,
}

impl<'a> Candidate<'a> {
    fn of(variant: &'a Variant<'a>, shared: &'a Attributes) -> Self {
        Self {
            name: variant.name,
            variant: Some(variant.name),
            fields: variant.fields,
            own: &variant.attributes,
            shared: Some(shared),
        }
    }

    fn case(&self) -> syn::Result<Case<'a>> {
        let mut mistakes = Mistakes::default();
        let key = mistakes.keep(self.text(KEY)).flatten();
        let tenant = mistakes.keep(self.text(TENANT)).flatten();
        let subject = mistakes.keep(self.text(SUBJECT)).flatten();
        let ordered = mistakes.keep(self.ordered()).unwrap_or_default();
        let (event_type, topic) = mistakes.finish(self.names())?;
        Ok(Case {
            variant: self.variant,
            fields: self.fields,
            event_type,
            version: self.setting(|attributes| attributes.version.as_ref()).map_or(1, |v| *v),
            topic,
            ordered,
            key,
            tenant,
            subject,
            codec: self.setting(|attributes| attributes.codec.as_ref()),
        })
    }

    /// What stands here, or else on the enum.
    fn setting<T>(&self, pick: fn(&'a Attributes) -> Option<&'a T>) -> Option<&'a T> {
        pick(self.own).or_else(|| self.shared.and_then(pick))
    }

    fn names(&self) -> syn::Result<(&'a LitStr, &'a LitStr)> {
        let event_type = self.own.event_type.as_ref();
        let topic = self.setting(|attributes| attributes.topic.as_ref());
        let missing = match (event_type, topic) {
            (Some(event_type), Some(topic)) => return Ok((event_type, topic)),
            (Some(_), None) => "`topic`: add #[outbox(topic = \"orders\")]",
            (None, Some(_)) => {
                "`type`: add #[outbox(type = \"orders.order_placed\")], a wire name that outlives \
                 the Rust name"
            }
            (None, None) => {
                "`type` and no `topic`: add #[outbox(type = \"orders.order_placed\", topic = \
                 \"orders\")]"
            }
        };
        Err(Error::new(self.name.span(), format!("`{}` has no {missing}", self.name)))
    }

    fn ordered(&self) -> syn::Result<bool> {
        let Some(ordered) = self.setting(|attributes| attributes.ordered.as_ref()) else {
            return Ok(false);
        };
        if !ordered.value || self.setting(KEY.1).is_some() {
            return Ok(ordered.value);
        }
        if self.own.ordered.is_some() {
            let message = "`ordered` needs a `key`: what the order is kept for";
            return Err(Error::new(ordered.span, message));
        }
        let message =
            format!("`{}` is ordered but has no `key`: set `key` or `ordered = false`", self.name);
        Err(Error::new(self.name.span(), message))
    }

    fn text(&self, (what, pick): (&str, Pick)) -> syn::Result<Option<Text<'a>>> {
        let Some(expression) = self.setting(pick) else { return Ok(None) };
        let Some(member) = field::member(expression) else {
            return Ok(Some(Text::Expression(expression)));
        };
        let mut fields = self.fields.members().zip(self.fields);
        if let Some((member, field)) = fields.find(|(own, _)| *own == member) {
            let optional = field::is_option(&field.ty);
            return Ok(Some(Text::Field { member, optional, span: expression.span() }));
        }
        let (name, fields) = (field::name(&member), field::listed(self.fields.members()));
        if pick(self.own).is_some() {
            let message = format!("no field `{name}` for `{what}`: {fields}");
            return Err(Error::new(expression.span(), message));
        }
        let message = format!(
            "`{}` has no field `{name}`, which the enum names as `{what}`, and needs a `{what}` \
             of its own: {fields}",
            self.name
        );
        Err(Error::new(self.name.span(), message))
    }
}
