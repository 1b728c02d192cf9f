//! What the attribute says to a mistake: one sentence, at its place.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong must stop at once")]

// A macro crate exports nothing but macros.
#[path = "../../src/check.rs"]
mod check;

use quote::quote;
use syn::{ItemImpl, parse_quote};

fn said(item: ItemImpl) -> String {
    check::checked(item).unwrap_err().to_string()
}

#[test]
fn hooks_as_sea_orm_has_them_are_taken() {
    let item: ItemImpl = parse_quote! {
        #[async_trait]
        impl ActiveModelBehavior for ActiveModel {
            fn new() -> Self { todo() }
            async fn before_save<C: ConnectionTrait>(self, db: &C, insert: bool) -> Result<Self, DbErr> {}
            async fn after_save<C>(model: Model, _: &C, _: bool) -> Result<Model, DbErr> {}
            async fn before_delete<C>(mut self, db: &C) -> Result<Self, DbErr> {}
            #[doc = "own"]
            async fn after_delete<C>(self, db: &C) -> Result<Self, DbErr> {}
        }
    };

    let checked = check::checked(item).unwrap();

    assert!(checked.attrs.is_empty(), "the attribute is added once");
    assert!(check::checked(parse_quote!(impl sea_orm::ActiveModelBehavior for A {})).is_ok());
    assert!(!checked.attrs.iter().any(check::is_async_trait));
}

#[test]
fn another_trait_is_refused() {
    for item in
        [parse_quote!(impl ActiveModelTrait for ActiveModel {}), parse_quote!(impl ActiveModel {})]
    {
        assert_eq!(said(item), "outbox_hooks goes on `impl ActiveModelBehavior for ActiveModel`");
    }
}

#[test]
fn a_hook_that_async_trait_has_rewritten_is_refused() {
    let said = said(parse_quote! {
        impl ActiveModelBehavior for ActiveModel {
            fn after_delete<'a, C>(self, db: &'a C) -> Pin<Box<dyn Future<Output = ()>>> {}
        }
    });

    assert!(said.contains("`#[outbox_hooks]` above `#[async_trait]`"), "{said}");
}

#[test]
fn a_hook_of_another_signature_is_refused_with_the_one_that_is_wanted() {
    let wanted = |arguments: &str| format!("this hook takes `{arguments}` and returns a `Result`");
    for (item, arguments) in [
        (
            parse_quote! { impl ActiveModelBehavior for A { async fn before_save(self, db: &C) -> R {} } },
            "(self, db: &C, insert: bool)",
        ),
        (
            parse_quote! { impl ActiveModelBehavior for A { async fn after_save(self, db: &C, i: bool) -> R {} } },
            "(model: Model, db: &C, insert: bool)",
        ),
        (
            parse_quote! { impl ActiveModelBehavior for A { async fn after_delete(self, db: &C) {} } },
            "(self, db: &C)",
        ),
    ] {
        assert_eq!(said(item), wanted(arguments));
    }
}

#[test]
fn a_hook_that_may_be_left_out_is_refused() {
    for item in [
        parse_quote! {
            impl ActiveModelBehavior for A {
                #[cfg(feature = "audit")]
                async fn after_save(model: Model, db: &C, insert: bool) -> R {}
            }
        },
        parse_quote! {
            impl ActiveModelBehavior for A {
                #[cfg_attr(test, cfg(never))]
                async fn before_delete(self, db: &C) -> R {}
            }
        },
    ] {
        assert!(said(item).contains("put the `cfg` inside of its body"));
    }
    let other = parse_quote! {
        impl ActiveModelBehavior for A {
            #[cfg(test)]
            fn new() -> Self {}
        }
    };
    assert!(check::checked(other).is_ok(), "what is no hook may be left out");
}

#[test]
fn an_argument_of_the_attribute_is_before_or_nothing() {
    assert!(!check::asks_before(&quote!()).unwrap());
    assert!(check::asks_before(&quote!(before)).unwrap());
    for arguments in [quote!(after), quote!(before, before), quote!(before = true)] {
        let said = check::asks_before(&arguments).unwrap_err().to_string();
        assert_eq!(said, "outbox_hooks takes `before` or nothing");
    }
}
