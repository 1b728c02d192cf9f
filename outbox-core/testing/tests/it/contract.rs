//! The contract's table and the suite's cases name each other.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_row_of_the_contract_names_cases_that_exist() {
    let cases = cases();

    for row in rows("Kept by every store") {
        let named = names(&row[1]);
        assert!(!named.is_empty(), "no case holds: {}", row[0]);
        for case in named {
            assert!(cases.contains(&case), "{case} does not exist: {}", row[0]);
        }
    }
}

#[test]
fn every_case_stands_in_a_row_of_the_contract() {
    let named: BTreeSet<String> =
        rows("Kept by every store").iter().flat_map(|row| names(&row[1])).collect();

    let missing: Vec<String> = cases().difference(&named).cloned().collect();

    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn every_promise_of_the_contract_is_said_once_and_has_a_reason() {
    let mut said = BTreeSet::new();

    for part in ["Kept by every store", "Held by the types", "Not built yet"] {
        for row in rows(part) {
            assert!(row.len() == 2 && row.iter().all(|cell| !cell.is_empty()), "{row:?}");
            assert!(said.insert(row[0].clone()), "said twice: {}", row[0]);
        }
    }
}

/// Once an operation is there, its promises need cases.
#[test]
fn what_the_contract_says_is_not_built_is_not_built() {
    let source = sources(&core().join("src"));

    for row in rows("Not built yet") {
        let operation = names(&row[1]).pop().expect("a row names its operation");
        let (owner, method) = operation.split_once("::").expect("a trait and its method");
        let built = source.contains(&format!("trait {owner}"))
            && source.contains(&format!("async fn {method}("));
        assert!(!built, "{operation} is built: {}", row[0]);
        assert!(!cases().contains(&operation));
    }
}

/// Rows of all tables below a heading, as cells, without the heads of the tables.
fn rows(part: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(core().join("docs/contract.md")).unwrap();
    let (_, below) = text.split_once(&format!("\n## {part}\n")).expect("the heading is there");
    let below = below.split("\n## ").next().unwrap_or(below);
    let lines = below.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let cells = lines.map(|line| line.split(" | ").map(str::to_owned).collect::<Vec<_>>());
    let rows: Vec<_> = cells.filter(|row| row[0] != "Promise").collect();
    assert!(rows.len() > 5, "no rows below {part}");
    rows
}

/// What stands in backquotes.
fn names(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// All cases in the macros' lists, as `group::case`.
fn cases() -> BTreeSet<String> {
    let listed = fs::read_to_string(core().join("testing/src/conformance/cases.rs")).unwrap();
    let lists = listed.split("@tests $fixture;").skip(1);
    let lists = lists.filter_map(|list| list.split('}').next());
    let mut group = "";
    let mut cases = BTreeSet::new();
    for word in lists.flat_map(str::split_whitespace) {
        match word.strip_suffix(':') {
            Some(name) => group = name,
            None => _ = cases.insert(format!("{group}::{}", word.trim_end_matches(';'))),
        }
    }
    assert!(cases.len() > 100, "the cases were not found");
    cases
}

/// The text of all files below a folder.
fn sources(folder: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        text += &if path.is_dir() { sources(&path) } else { fs::read_to_string(path).unwrap() };
    }
    text
}

/// The folder of the crate whose contract it is.
fn core() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
