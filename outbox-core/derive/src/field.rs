//! Fields as the attributes name them.

use syn::{Expr, ExprLit, Index, Lit, Member, Type};

/// The field that a lone name or number means; any other expression is none.
pub(crate) fn member(expression: &Expr) -> Option<Member> {
    match expression {
        Expr::Path(path) if path.qself.is_none() => {
            let name = path.path.get_ident()?;
            (name != "self").then(|| Member::Named(name.clone()))
        }
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) if number.suffix().is_empty() => {
            let index = number.base10_parse().ok()?;
            Some(Member::Unnamed(Index { index, span: number.span() }))
        }
        _ => None,
    }
}

/// Recognizes `Option<…>` as it is written, since a macro sees no types.
pub(crate) fn is_option(ty: &Type) -> bool {
    match ty {
        Type::Group(group) => is_option(&group.elem),
        Type::Paren(paren) => is_option(&paren.elem),
        Type::Path(path) => path.path.segments.last().is_some_and(|last| last.ident == "Option"),
        _ => false,
    }
}

pub(crate) fn listed(members: impl IntoIterator<Item = Member>) -> String {
    let mut names: Vec<String> = Vec::new();
    for member in members {
        let name = format!("`{}`", name(&member));
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        "there are no fields".into()
    } else {
        format!("the fields are {}", names.join(", "))
    }
}

pub(crate) fn name(member: &Member) -> String {
    match member {
        Member::Named(name) => name.to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    }
}
