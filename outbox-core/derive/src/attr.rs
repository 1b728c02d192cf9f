//! What the user wrote in `#[outbox(...)]`.

use proc_macro2::{Ident, Span};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, ExprLit, Lit, LitStr, Token, Type};

use crate::mistakes::Mistakes;

/// The attributes of one struct, enum or variant, each at most once and with a legal value.
#[derive(Default)]
pub(crate) struct Attributes {
    pub(crate) event_type: Option<LitStr>,
    pub(crate) version: Option<u16>,
    pub(crate) topic: Option<LitStr>,
    pub(crate) key: Option<Expr>,
    pub(crate) ordered: Option<Ordered>,
    pub(crate) tenant: Option<Expr>,
    pub(crate) subject: Option<Expr>,
    pub(crate) codec: Option<Type>,
    /// Whether a mistake here is told already: what is missing then may be what was meant by it.
    pub(crate) flawed: bool,
}

/// Whether the events of one key keep their order, and where that was said.
#[derive(Clone, Copy)]
pub(crate) struct Ordered {
    pub(crate) value: bool,
    pub(crate) span: Span,
}

impl Attributes {
    pub(crate) fn of(attributes: &[Attribute], mistakes: &mut Mistakes) -> Self {
        let mut own = Self::default();
        let mut found = Mistakes::default();
        let mut seen = Vec::new();
        for attribute in attributes.iter().filter(|attribute| is_outbox(attribute)) {
            let settings =
                attribute.parse_args_with(Punctuated::<Setting, Token![,]>::parse_terminated);
            for setting in found.keep(settings).into_iter().flatten() {
                if seen.contains(&setting.name) {
                    let message = format!("`{}` is written twice: keep one", setting.name);
                    found.add(Error::new(setting.name.span(), message));
                    continue;
                }
                seen.push(setting.name.clone());
                found.keep(own.take(setting));
            }
        }
        own.flawed = mistakes.keep(found.finish(Ok(()))).is_none();
        own
    }

    fn take(&mut self, setting: Setting) -> syn::Result<()> {
        match setting.name.to_string().as_str() {
            "type" => self.event_type = Some(setting.event_type()?),
            "version" => self.version = Some(setting.version()?),
            "topic" => self.topic = Some(setting.topic()?),
            "key" => self.key = Some(setting.expression()?),
            "ordered" => self.ordered = Some(setting.ordered()?),
            "tenant" => self.tenant = Some(setting.expression()?),
            "subject" => self.subject = Some(setting.expression()?),
            CODEC => self.codec = Some(setting.codec()?),
            unknown => {
                let message = format!(
                    "unknown attribute `{unknown}`: expected one of `type`, `version`, `topic`, \
                     `key`, `ordered`, `tenant`, `subject`, `codec`"
                );
                return Err(Error::new(setting.name.span(), message));
            }
        }
        Ok(())
    }
}

pub(crate) fn is_outbox(attribute: &Attribute) -> bool {
    attribute.path().is_ident("outbox")
}

/// The one attribute whose value is a type.
const CODEC: &str = "codec";
const NO_CODEC: &str = "`codec` must be a type: `codec = Protobuf`";

/// One `name` or `name = value`.
struct Setting {
    name: Ident,
    value: Option<Value>,
}

enum Value {
    Expression(Expr),
    Type(Type),
}

impl Parse for Setting {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input.call(Ident::parse_any)?;
        let value = if input.parse::<Option<Token![=]>>()?.is_some() {
            Some(Value::of(&name, input)?)
        } else if input.is_empty() || input.peek(Token![,]) {
            None
        } else {
            return Err(input.error(format!("expected `,` or a value, as in `{name} = ...`")));
        };
        Ok(Self { name, value })
    }
}

impl Value {
    fn of(name: &Ident, input: ParseStream<'_>) -> syn::Result<Self> {
        if name != CODEC {
            return Ok(Self::Expression(ungrouped(input.parse()?)));
        }
        let span = input.span();
        input.parse().map(Self::Type).map_err(|_| Error::new(span, NO_CODEC))
    }

    fn span(&self) -> Span {
        match self {
            Self::Expression(expression) => expression.span(),
            Self::Type(codec) => codec.span(),
        }
    }
}

impl Setting {
    fn event_type(&self) -> syn::Result<LitStr> {
        self.word("\"orders.order_placed\"", 128, "._-")
    }

    fn topic(&self) -> syn::Result<LitStr> {
        self.word("\"orders\"", 256, "._-:/")
    }

    /// A string literal that may travel to a broker. The same limits are checked when staging.
    fn word(&self, example: &str, longest: usize, marks: &str) -> syn::Result<LitStr> {
        let name = &self.name;
        let Some(Value::Expression(Expr::Lit(ExprLit { lit: Lit::Str(word), .. }))) = &self.value
        else {
            let message = format!("`{name}` must be a string literal: `{name} = {example}`");
            return Err(Error::new(self.span(), message));
        };
        let text = word.value();
        let legal =
            |character: char| character.is_ascii_alphanumeric() || marks.contains(character);
        if text.is_empty() || text.len() > longest || !text.chars().all(legal) {
            let marks = marks.chars().map(String::from).collect::<Vec<_>>().join(" ");
            let message = format!("`{name}` must be 1 to {longest} of A-Z a-z 0-9 {marks}");
            return Err(Error::new(word.span(), message));
        }
        Ok(word.clone())
    }

    fn version(&self) -> syn::Result<u16> {
        let version = match &self.value {
            Some(Value::Expression(Expr::Lit(ExprLit { lit: Lit::Int(number), .. }))) => {
                number.base10_parse::<u16>().ok().filter(|version| *version > 0)
            }
            _ => None,
        };
        version.ok_or_else(|| {
            Error::new(self.span(), "`version` must be a whole number from 1 to 65535")
        })
    }

    fn ordered(&self) -> syn::Result<Ordered> {
        let value = match &self.value {
            None => true,
            Some(Value::Expression(Expr::Lit(ExprLit { lit: Lit::Bool(value), .. }))) => {
                value.value
            }
            Some(other) => {
                let message = "`ordered` stands alone or is `true` or `false`";
                return Err(Error::new(other.span(), message));
            }
        };
        Ok(Ordered { value, span: self.name.span() })
    }

    fn expression(self) -> syn::Result<Expr> {
        let Some(Value::Expression(expression)) = self.value else {
            let name = self.name;
            let message = format!("`{name}` needs a field or an expression: `{name} = order_id`");
            return Err(Error::new(name.span(), message));
        };
        Ok(expression)
    }

    fn codec(self) -> syn::Result<Type> {
        let Some(Value::Type(codec)) = self.value else {
            return Err(Error::new(self.name.span(), NO_CODEC));
        };
        Ok(codec)
    }

    /// The value if there is one, else the name.
    fn span(&self) -> Span {
        self.value.as_ref().map_or_else(|| self.name.span(), Value::span)
    }
}

/// Values that come through a declarative macro arrive in invisible groups.
fn ungrouped(expression: Expr) -> Expr {
    match expression {
        Expr::Group(group) => ungrouped(*group.expr),
        expression => expression,
    }
}
