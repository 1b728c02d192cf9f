//! How long the functions of a source file are.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, ImplItemFn, ItemFn, Macro, Signature, TraitItemFn};

/// What these macros hold is the text of other functions.
const TEMPLATES: [&str; 3] = ["parse_quote", "quote", "quote_spanned"];

/// A function, from its signature to its closing brace.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// The line of its signature.
    pub(crate) line: usize,
    /// How many lines it has, nested functions and closures included, templates left out.
    pub(crate) lines: usize,
}

/// The functions of a source file, outer ones before those within them.
///
/// Functions that macros write, with `macro_rules!` too, are not seen.
pub(crate) fn functions(source: &str) -> syn::Result<Vec<Function>> {
    let mut reader = Reader::default();
    reader.visit_file(&syn::parse_file(source)?);
    Ok(reader.functions)
}

#[derive(Default)]
struct Reader {
    functions: Vec<Function>,
    /// Of the functions around the place that is read now, in `functions`.
    around: Vec<usize>,
}

impl Reader {
    fn read<'ast>(
        &mut self,
        signature: &'ast Signature,
        block: &'ast Block,
        content: impl FnOnce(&mut Self),
    ) {
        let line = signature.span().start().line;
        let lines = block.brace_token.span.close().end().line + 1 - line;
        self.around.push(self.functions.len());
        self.functions.push(Function { name: signature.ident.to_string(), line, lines });
        content(self);
        self.around.pop();
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.read(&function.sig, &function.block, |reader| visit::visit_item_fn(reader, function));
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.read(&function.sig, &function.block, |reader| {
            visit::visit_impl_item_fn(reader, function);
        });
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        let Some(block) = &function.default else { return };
        self.read(&function.sig, block, |reader| visit::visit_trait_item_fn(reader, function));
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        let name = call.path.segments.last().map(|segment| segment.ident.to_string());
        if name.is_some_and(|name| TEMPLATES.contains(&name.as_str())) {
            let within = lines_within(call.delimiter.span().open(), call.delimiter.span().close());
            for function in &self.around {
                self.functions[*function].lines -= within;
            }
        }
    }
}

/// Lines between those of the two ends.
fn lines_within(open: Span, close: Span) -> usize {
    (close.start().line - open.start().line).saturating_sub(1)
}

/// Name, first line and length of each function.
fn lengths(source: &str) -> Vec<(String, usize, usize)> {
    let functions = functions(source).unwrap().into_iter();
    functions.map(|function| (function.name, function.line, function.lines)).collect()
}

fn of(name: &str, line: usize, lines: usize) -> (String, usize, usize) {
    (name.to_owned(), line, lines)
}

#[test]
fn a_function_is_as_long_as_its_signature_and_its_body() {
    let source =
        "/// Docs.\n#[test]\npub fn long(\n    a: u8,\n) -> u8 {\n    a\n}\n\nfn short() {}\n";

    assert_eq!(lengths(source), [of("long", 3, 5), of("short", 9, 1)]);
}

#[test]
fn what_is_within_a_function_is_a_part_of_it() {
    let source = "fn outer() {\n    fn inner() {\n    }\n    let closure = || {\n    };\n}\n";

    assert_eq!(lengths(source), [of("outer", 1, 6), of("inner", 2, 2)]);
}

#[test]
fn methods_and_default_methods_are_functions() {
    let source = "mod m {\n    impl A {\n        fn a() {\n        }\n    }\n    trait B {\n        \
        fn b();\n        fn c() {\n        }\n    }\n}\n";

    assert_eq!(lengths(source), [of("a", 3, 2), of("c", 8, 2)]);
}

#[test]
fn the_text_of_a_template_is_not_counted() {
    let source = "fn expand() -> TokenStream {\n    let a = quote!(a);\n    quote! {\n        \
        fn b() {}\n        fn c() {}\n    }\n}\n";

    assert_eq!(lengths(source), [of("expand", 1, 5)]);
}
