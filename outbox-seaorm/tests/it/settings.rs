//! Under which source and into which tables.

use std::process::Command;

use outbox_seaorm::{Environment, OutboxError, OutboxSettings, Stage, TableNames, scope};
use sea_orm::{ActiveModelTrait, TransactionTrait};

use crate::database::{TestDatabase, count, on_sqlite};
use crate::on_all;
use crate::shop::{ReportRequested, new_order};
use crate::staged::texts;

on_all!(settings:
    a_scope_with_a_bad_source_stages_nothing,
    a_second_outbox_has_its_own_tables,
    an_inner_scope_wins,
    staging_without_settings_names_the_call,
);

async fn an_inner_scope_wins(shop: TestDatabase) {
    let inner = OutboxSettings::new("urn:shop:second");
    let txn = shop.db.begin().await.unwrap();

    scope(inner, txn.stage(ReportRequested)).await.unwrap();
    txn.stage(ReportRequested).await.unwrap();
    txn.commit().await.unwrap();

    let expected = ["urn:shop:second", crate::database::SOURCE];
    assert_eq!(texts(&shop.db, "source").await, expected);
}

async fn a_second_outbox_has_its_own_tables(shop: TestDatabase) {
    // SQLite has no schemas to make.
    let schema = shop.is_postgres().then_some("mail");
    let tables = TableNames::new(schema, "Second_").unwrap();
    outbox_migration::migrate_with(&shop.db, &tables).await.unwrap();
    let second = OutboxSettings::new("urn:shop:second").tables(tables.clone());
    let txn = shop.db.begin().await.unwrap();

    scope(second, new_order(1).insert(&txn)).await.unwrap();
    txn.stage(ReportRequested).await.unwrap();
    txn.commit().await.unwrap();

    assert_eq!(count(&shop.db, &tables.quoted("message", shop.quote())).await, 1);
    assert_eq!(texts(&shop.db, "event_type").await, ["reports.requested"]);
}

/// A spawned future has left the scope, and nothing is installed in this process.
async fn staging_without_settings_names_the_call(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();

    let error =
        tokio::spawn(async move { txn.stage(ReportRequested).await }).await.unwrap().unwrap_err();

    let text = OutboxError::of(&error).unwrap().to_string();
    assert!(text.contains("call `OutboxSettings::new(source).install()` once at start"), "{text}");
}

async fn a_scope_with_a_bad_source_stages_nothing(shop: TestDatabase) {
    let txn = shop.db.begin().await.unwrap();

    let saved = scope(OutboxSettings::new("two words"), new_order(1).insert(&txn)).await;
    txn.commit().await.unwrap();

    let error = saved.unwrap_err();
    let text = OutboxError::of(&error).unwrap().to_string();
    assert!(text.starts_with("setting source must be a URI reference"), "{text}");
    assert_eq!(count(&shop.db, "orders").await, 0);
}

#[test]
fn a_source_that_is_no_uri_reference_is_not_installed() {
    for source in ["", "two words", "tab\tbed", "line\n", "nul\0", "wide\u{3000}space"] {
        let error = OutboxSettings::new(source).install().unwrap_err();

        assert!(matches!(&error, OutboxError::Settings(error) if error.key() == "source"));
    }
}

/// In a process of its own, because what is installed stays.
#[test]
fn what_is_installed_stages_and_a_scope_wins_over_it() {
    const TEST: &str = "settings::what_is_installed_stages_and_a_scope_wins_over_it";
    if in_own_process(TEST) {
        return;
    }
    OutboxSettings::new("urn:installed").install().unwrap();
    OutboxSettings::new("urn:installed").install().unwrap();
    let other = OutboxSettings::new("urn:other").install();
    assert!(matches!(other, Err(OutboxError::AlreadyInstalled)));

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(on_sqlite(async |shop: TestDatabase| {
        let db = shop.db.clone();
        let unscoped = async move {
            let txn = db.begin().await.unwrap();
            txn.stage(ReportRequested).await.unwrap();
            txn.commit().await.unwrap();
        };
        tokio::spawn(unscoped).await.unwrap();
        let txn = shop.db.begin().await.unwrap();
        txn.stage(ReportRequested).await.unwrap();
        txn.commit().await.unwrap();

        let expected = ["urn:installed", crate::database::SOURCE];
        assert_eq!(texts(&shop.db, "source").await, expected);
    }));
}

/// Runs the test once more in a child, where this answers no.
fn in_own_process(test: &str) -> bool {
    const MARK: &str = "OUTBOX_TEST_OWN_PROCESS";
    if std::env::var_os(MARK).is_some() {
        return false;
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    let child = child.args(["--exact", test]).env(MARK, "1").output().unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && output.contains("1 passed"), "{output}");
    true
}

fn environment(variables: &[(&str, &str)]) -> Environment {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Environment::new("SHOP_", variables.iter().map(owned))
}

#[test]
fn settings_come_from_the_environment() {
    let variables = environment(&[
        ("SHOP_SOURCE", "urn:shop"),
        ("SHOP_SCHEMA", "mail"),
        ("SHOP_PREFIX", "Second_"),
    ]);

    let settings = OutboxSettings::from_environment(&variables).unwrap();

    let tables = TableNames::new(Some("mail"), "Second_").unwrap();
    assert_eq!(settings, OutboxSettings::new("urn:shop").tables(tables));
    let source_alone = environment(&[("SHOP_SOURCE", "urn:shop")]);
    let settings = OutboxSettings::from_environment(&source_alone).unwrap();
    assert_eq!(settings, OutboxSettings::new("urn:shop"));
}

#[test]
fn a_variable_that_cannot_be_used_is_named_without_its_value() {
    let long = "x".repeat(64);
    for (key, variables) in [
        ("SHOP_SOURCE", vec![]),
        ("SHOP_SOURCE", vec![("SHOP_SOURCE", "secret word")]),
        ("SHOP_SCHEMA", vec![("SHOP_SOURCE", "urn:shop"), ("SHOP_SCHEMA", "")]),
        ("SHOP_PREFIX", vec![("SHOP_SOURCE", "urn:shop"), ("SHOP_PREFIX", long.as_str())]),
    ] {
        let error = OutboxSettings::from_environment(&environment(&variables)).unwrap_err();

        assert_eq!(error.key(), key);
        assert!(!error.to_string().contains("secret"));
    }
}
