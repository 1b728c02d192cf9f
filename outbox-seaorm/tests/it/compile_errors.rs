//! The compile errors in the documentation are those of the code.
//!
//! Their snippets are doctests, which fail to compile with the error's code. Their texts are held
//! against where the compiler has them from: this crate's attributes for it, and what the tests of
//! the derive macro have compared with the compiler's own output.

use std::fs;
use std::path::Path;

const DOCS: &str = include_str!("../../docs/compile-errors.md");

const WHAT_CAN_BE_STAGED: &str = include_str!("../../../outbox-core/src/envelope.rs");
const MISSING_TYPE: &str =
    include_str!("../../../outbox-core/derive/tests/ui/struct_without_type.stderr");
const MISSING_ATTRIBUTE: &str =
    include_str!("../../../outbox-core/derive/tests/ui/struct_without_attribute.stderr");

#[test]
fn what_the_crates_tell_the_compiler_is_in_the_docs() {
    let mut sources = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    sources.push(WHAT_CAN_BE_STAGED.to_owned());
    let attributes: Vec<Vec<String>> =
        sources.iter().flat_map(|source| attributes(source)).collect();

    assert!(attributes.len() >= 5, "the attributes are not found any more");
    for texts in attributes {
        assert!(texts.len() >= 3, "an attribute with a message, a label and a note: {texts:?}");
        let shown = fenced("text").iter().any(|block| texts.iter().all(|text| has(block, text)));
        assert!(shown, "docs/compile-errors.md has no block with all of {texts:#?}");
    }
}

#[test]
fn what_the_derive_macro_says_is_in_the_docs() {
    for said in [MISSING_TYPE, MISSING_ATTRIBUTE] {
        let error = said.lines().next().unwrap();
        let marked: Vec<&str> = said.lines().skip(3).map(|line| &line[1..]).collect();

        let shown = fenced("text").iter().any(|block| {
            block.starts_with(error) && marked.iter().all(|line| block.contains(line))
        });
        assert!(shown, "docs/compile-errors.md has no block with {said}");
    }
}

#[test]
fn each_snippet_fails_with_the_code_that_its_text_shows() {
    let blocks: Vec<&str> = DOCS.split("\n```").skip(1).step_by(2).collect();

    assert!(blocks.len() >= 16);
    for pair in blocks.chunks(2) {
        let [snippet, text] = pair else { panic!("a snippet without its text") };
        let code = snippet.lines().next().unwrap().strip_prefix("compile_fail").unwrap();
        let error = match code.strip_prefix(',') {
            Some(code) => format!("text\nerror[{code}]: "),
            None => "text\nerror: ".to_owned(),
        };
        assert!(text.starts_with(&error), "{text}");
    }
}

/// The fenced blocks of this kind.
fn fenced(kind: &str) -> Vec<&'static str> {
    let blocks = DOCS.split("\n```").skip(1).step_by(2);
    blocks.filter_map(|block| block.strip_prefix(kind)?.strip_prefix('\n')).collect()
}

/// Whether the text is in the block, with something in the place of each parameter.
fn has(block: &str, text: &str) -> bool {
    let mut rest = Some(block);
    for part in text.split("{Self}") {
        rest = rest.and_then(|rest| rest.split_once(part)).map(|(_, behind)| behind);
    }
    rest.is_some()
}

/// The texts of each attribute that is for the compiler.
fn attributes(source: &str) -> Vec<Vec<String>> {
    let attributes = source.split("#[diagnostic::on_unimplemented(").skip(1);
    let attributes = attributes.map(|behind| behind.split("\n)]").next().unwrap());
    attributes.map(|attribute| attribute.lines().filter_map(text).collect()).collect()
}

/// The string of a line like `note = "…",`.
fn text(line: &str) -> Option<String> {
    let (_, value) = line.split_once(" = \"")?;
    let (value, _) = value.rsplit_once('"')?;
    Some(value.replace("{{", "{").replace("}}", "}").replace("\\\"", "\""))
}

fn sources(folder: &Path) -> Vec<String> {
    let mut sources = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources.extend(self::sources(&path));
        } else {
            sources.push(fs::read_to_string(path).unwrap());
        }
    }
    sources
}
