//! Crates that know the trait under another name than `outbox_core`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// A workspace of its own, because a package cannot depend on one crate under two names.
static WORKSPACE: LazyLock<PathBuf> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("resolution");
    let core = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let core = format!("package = \"outbox-core\", path = {:?}", core.display().to_string());
    write(&root.join("Cargo.toml"), MANIFEST);
    fs::copy(core_lock(), root.join("Cargo.lock")).unwrap();
    package(&root, "renamed", &format!("facts = {{ {core} }}"), &event("facts"));
    let facade = "pub use outbox_core::{Json, OutboxEvent, Payload, PayloadError};\n";
    package(&root, "outbox-seaorm", &format!("outbox-core = {{ {core} }}"), facade);
    package(&root, "outbox-worker", &format!("outbox-core = {{ {core} }}"), facade);
    let seaorm = "outbox-seaorm = { path = \"../outbox-seaorm\" }";
    package(&root, "application", seaorm, &event("outbox_seaorm"));
    let worker = "engine = { package = \"outbox-worker\", path = \"../outbox-worker\" }";
    package(&root, "embedded", worker, &event("engine"));
    root
});

#[test]
fn the_core_may_be_renamed() {
    check("renamed");
}

#[test]
fn the_seaorm_provider_may_be_the_only_dependency() {
    check("application");
}

#[test]
fn the_worker_may_be_the_only_dependency() {
    check("embedded");
}

/// The profile of the project's own workspace, so that its built dependencies are used again.
const MANIFEST: &str = r#"
[workspace]
resolver = "3"
members = ["application", "embedded", "outbox-seaorm", "outbox-worker", "renamed"]

[profile.dev]
debug = "line-tables-only"

[profile.dev.package."*"]
debug = false
"#;

fn core_lock() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock")
}

fn event(name: &str) -> String {
    format!(
        "#[derive(serde::Serialize, {name}::OutboxEvent)]\n\
         #[outbox(type = \"orders.order_placed\", topic = \"orders\", key = 0, ordered)]\n\
         pub struct OrderPlaced(pub i32);\n"
    )
}

fn package(root: &Path, name: &str, dependency: &str, source: &str) {
    let manifest = format!(
        "[package]\nname = \"{name}\"\nedition = \"2024\"\n\n\
         [dependencies]\n{dependency}\nserde = {{ version = \"1\", features = [\"derive\"] }}\n"
    );
    write(&root.join(name).join("Cargo.toml"), &manifest);
    write(&root.join(name).join("src/lib.rs"), source);
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn check(package: &str) {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();

    let output = Command::new(std::env::var_os("CARGO").unwrap())
        .args(["check", "--offline", "--quiet", "--package", package, "--target-dir"])
        .arg(target)
        .current_dir(&*WORKSPACE)
        .output()
        .unwrap();

    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
