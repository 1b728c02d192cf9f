//! The suite's own bookkeeping.

use std::fs;
use std::path::Path;

/// A case that is missing in the macros would never run.
#[test]
fn every_case_is_in_a_macro_and_has_a_name_of_its_own() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/conformance");
    let mut written: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .flat_map(|file| cases_in(&fs::read_to_string(file.unwrap().path()).unwrap()))
        .collect();
    written.sort();

    let mut listed = listed_in(&fs::read_to_string(folder.join("cases.rs")).unwrap());

    listed.sort();
    assert!(written.len() > 100, "the cases were not found");
    assert_eq!(listed, written);
    listed.dedup();
    assert_eq!(listed.len(), written.len(), "two cases have one name");
}

/// Names of the public async functions of a group.
fn cases_in(group: &str) -> Vec<String> {
    let functions = group.lines().filter_map(|line| line.strip_prefix("pub async fn "));
    functions.filter_map(|function| function.split('(').next()).map(str::to_owned).collect()
}

/// Names in the macros' lists, where a group's own name ends with a colon.
fn listed_in(cases: &str) -> Vec<String> {
    let lists = cases.split("@tests $fixture;").skip(1);
    let lists = lists.filter_map(|list| list.split('}').next());
    let names = lists.flat_map(str::split_whitespace).filter(|word| !word.ends_with(':'));
    names.map(|name| name.trim_end_matches(';').to_owned()).collect()
}
