//! What the worker binary says to settings and databases that cannot work: one line, no secret.

use outbox_test_databases::{TestDatabase, number, on_postgres, on_sqlite, run};
use outbox_tests::process::WorkerSetup;
use tokio::process::Command;

const SECRET: &str = "hunter2";

/// Runs it to its end and returns the one line that it says.
async fn refused(mut command: Command) -> String {
    let output = command.output().await.unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("outbox-worker: "), "{said}");
    assert!(!said.contains(SECRET) && !said.contains("panicked"), "{said}");
    said
}

fn worker(database_url: &str, arguments: &[&str]) -> Command {
    WorkerSetup::new(database_url, "http://127.0.0.1:9").command(arguments)
}

fn with(variable: &str, value: &str) -> Command {
    let mut command = worker("sqlite:///nowhere/outbox.sqlite", &["stats"]);
    command.env(variable, value);
    command
}

#[tokio::test]
async fn an_unknown_setting_is_named() {
    let said = refused(with("OUTBOX_DISPATCHER__LEESE", SECRET)).await;

    assert!(said.contains("dispatcher.leese (OUTBOX_DISPATCHER__LEESE)"), "{said}");
    assert!(said.contains("`lease`"), "{said}");
}

#[tokio::test]
async fn a_bad_value_is_named_and_not_shown() {
    for (variable, key, wanted) in [
        ("OUTBOX_DISPATCHER__LEASE", "dispatcher.lease", "must be a duration like 500ms"),
        ("OUTBOX_DISPATCHER__CONCURRENCY", "dispatcher.concurrency", "must be a"),
        ("OUTBOX_PUBLISHER", "publisher", "must be `log` or `sns`"),
        ("OUTBOX_LOG__FORMAT", "log.format", "must be `json` or `text`"),
    ] {
        let said = refused(with(variable, SECRET)).await;

        assert!(said.contains(&format!("settings: {key} ({variable})")), "{said}");
        assert!(said.contains(wanted), "{said}");
    }
}

#[tokio::test]
async fn a_publish_timeout_that_outlives_the_lease_is_refused() {
    let said = refused(with("OUTBOX_DISPATCHER__PUBLISH_TIMEOUT", "14s")).await;

    assert!(said.contains("publish_timeout must be below two thirds of the lease"), "{said}");
}

#[tokio::test]
async fn a_settings_file_that_is_no_toml_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("outbox.toml");
    std::fs::write(&file, format!("publisher = \"log\"\ndatabase_url = \"{SECRET}\n")).unwrap();
    let mut command = worker("sqlite:///nowhere/outbox.sqlite", &["stats", "--config"]);
    command.arg(&file);

    let said = refused(command).await;

    assert!(said.contains("outbox.toml is not valid TOML at line 2"), "{said}");
}

#[tokio::test]
async fn no_database_and_no_topic_are_told_with_the_variable_to_set() {
    let mut no_database = worker("", &["stats"]);
    no_database.env_remove("DATABASE_URL");
    let mut no_topic = worker("sqlite:///nowhere/outbox.sqlite", &["run"]);
    no_topic.env_remove("OUTBOX_SNS__TOPIC_ARN_PREFIX");

    assert!(refused(no_database).await.contains("set DATABASE_URL"));
    assert!(refused(no_topic).await.contains("OUTBOX_SNS__TOPIC_ARN_PREFIX"));
}

#[tokio::test]
async fn an_unreachable_database_is_named_by_host_and_port() {
    let said = refused(worker(&format!("postgres://u:{SECRET}@127.0.0.1:1/app"), &["run"])).await;

    assert!(said.contains("PostgreSQL at 127.0.0.1 port 1 cannot be reached"), "{said}");
}

async fn an_unmigrated_database_is_refused(database: TestDatabase) {
    run(&database.connect().await, "CREATE TABLE something (id INTEGER)").await;
    for command in [["run"], ["stats"]] {
        let said = refused(worker(&database.url, &command)).await;

        assert!(said.contains("outbox-worker migrate"), "{said}");
    }
}

#[tokio::test]
async fn an_unmigrated_sqlite_file_is_refused_with_the_command_that_helps() {
    on_sqlite(an_unmigrated_database_is_refused).await;
}

#[tokio::test]
async fn an_unmigrated_postgres_is_refused_with_the_command_that_helps() {
    on_postgres(an_unmigrated_database_is_refused).await;
}

#[tokio::test]
async fn migrate_makes_the_tables_and_stats_counts_them() {
    on_postgres(async |database| {
        let migrated = worker(&database.url, &["migrate"]).output().await.unwrap();
        assert!(migrated.status.success(), "{}", String::from_utf8_lossy(&migrated.stderr));
        let db = database.connect().await;
        assert_eq!(number(&db, "SELECT count(*) FROM outbox_lane").await, 64);

        let counted = worker(&database.url, &["stats", "--json"]).output().await.unwrap();

        let figures: serde_json::Value = serde_json::from_slice(&counted.stdout).unwrap();
        assert_eq!(figures["ready"]["count"], 0);
        assert_eq!(figures["ready"]["is"], "exact");
        assert!(figures["oldest_ready_seconds"].is_null());
    })
    .await;
}
