//! The rules about crates and files, read from the manifests and the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::function_length::functions;

const CORE_MAY_USE: [&str; 10] = [
    "async-trait",
    "base64",
    "bytes",
    "chrono",
    "outbox-derive",
    "serde",
    "serde_json",
    "thiserror",
    "uuid",
    "xxhash-rust",
];
/// What a visitor sees first; files of tools have dotted names. Cargo wants its lock there.
const VISIBLE: [&str; 9] = [
    "Cargo.lock",
    "Cargo.toml",
    "README.md",
    "examples",
    "migration",
    "outbox-core",
    "outbox-seaorm",
    "outbox-worker",
    "tests",
];
const LONGEST_FILE: usize = 400;
const LONGEST_FUNCTION: usize = 40;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn packages() -> BTreeMap<String, Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--locked"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages.map(|p| (p["name"].as_str().unwrap().to_owned(), p.clone())).collect()
}

/// Names of normal dependencies; with `optional` also those behind a feature.
fn dependencies(package: &Value, optional: bool) -> BTreeSet<&str> {
    let all = package["dependencies"].as_array().unwrap().iter();
    all.filter(|dependency| dependency["kind"].is_null())
        .filter(|dependency| optional || dependency["optional"] == false)
        .map(|dependency| dependency["name"].as_str().unwrap())
        .collect()
}

/// All Rust files, whether or not they are under version control.
fn sources() -> Vec<PathBuf> {
    let mut sources = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy();
            let ours = name != "target" && !name.starts_with('.');
            if path.is_dir() && ours {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                sources.push(path);
            }
        }
    }
    assert!(sources.len() > 100, "only {} source files", sources.len());
    sources.sort();
    sources
}

#[test]
fn the_core_knows_no_database_no_runtime_and_no_broker() {
    let packages = packages();

    let used = dependencies(&packages["outbox-core"], true);

    let strangers: Vec<_> = used.iter().filter(|name| !CORE_MAY_USE.contains(name)).collect();
    assert!(strangers.is_empty(), "outbox-core uses {strangers:?}");
}

#[test]
fn store_and_worker_library_do_not_know_each_other() {
    let packages = packages();

    let provider = dependencies(&packages["outbox-seaorm"], true);
    let worker = dependencies(&packages["outbox-worker"], false);

    assert!(!provider.contains("outbox-worker"));
    for name in ["outbox-seaorm", "outbox-migration", "sea-orm", "aws-sdk-sns", "aws-config"] {
        assert!(!worker.contains(name), "the worker library needs {name} without a feature");
    }
}

#[test]
fn test_support_is_no_normal_dependency_of_a_library() {
    for (name, package) in packages() {
        if matches!(name.as_str(), "outbox-tests" | "quickstart") {
            continue;
        }
        let used = dependencies(&package, true);
        assert!(!used.contains("outbox-testing"), "{name} depends on outbox-testing");
    }
}

/// But for the worker binary, which opens the connections that it joins to the dispatcher.
#[test]
fn only_the_provider_and_the_migration_speak_sea_orm() {
    for path in sources() {
        let place = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        let outside = ["outbox-core/", "outbox-worker/src/"];
        if outside.iter().any(|folder| place.starts_with(folder))
            && !place.starts_with("outbox-worker/src/bin/")
        {
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(!text.contains("sea_orm::"), "{place} names sea_orm");
        }
    }
}

#[test]
fn migrations_do_not_use_the_entities() {
    let packages = packages();

    assert!(!dependencies(&packages["outbox-migration"], true).contains("outbox-seaorm"));
}

#[test]
fn every_crate_forbids_unsafe_code_and_says_its_rust_version() {
    for (name, package) in packages() {
        let manifest = package["manifest_path"].as_str().unwrap();
        let text = std::fs::read_to_string(manifest).unwrap();

        assert!(text.contains("[lints]\nworkspace = true"), "{name} has its own lints");
        let lines: Vec<&str> = text.lines().collect();
        let version = lines.iter().position(|line| line.starts_with("rust-version"));
        let reason = version.map(|at| lines[at - 1]);
        assert!(reason.is_some_and(|line| line.starts_with('#')), "{name}: no reason for its MSRV");
    }
    let workspace = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(workspace.contains("unsafe_code = \"forbid\""));
}

#[test]
fn no_file_is_longer_than_four_hundred_lines() {
    let length = |path: &PathBuf| std::fs::read_to_string(path).unwrap().lines().count();

    let long: Vec<_> = sources().into_iter().filter(|path| length(path) > LONGEST_FILE).collect();

    assert!(long.is_empty(), "{long:?}");
}

#[test]
fn no_function_is_longer_than_forty_lines() {
    let mut long = Vec::new();
    for path in sources() {
        let place = path.strip_prefix(root()).unwrap().display();
        let source = std::fs::read_to_string(&path).unwrap();
        let functions = functions(&source).unwrap_or_else(|error| panic!("{place}: {error}"));
        for function in functions.iter().filter(|function| function.lines > LONGEST_FUNCTION) {
            let (name, line, lines) = (&function.name, function.line, function.lines);
            long.push(format!("{place}:{line}: `{name}` has {lines} lines"));
        }
    }

    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn the_visible_top_level_is_fixed() {
    let entries = std::fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().file_name());
    let names: BTreeSet<String> = entries.map(|name| name.into_string().unwrap()).collect();

    let seen = names.iter().map(String::as_str).filter(|n| !n.starts_with('.') && *n != "target");
    assert_eq!(seen.collect::<BTreeSet<_>>(), BTreeSet::from(VISIBLE));
}
