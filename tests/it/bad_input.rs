//! What the worker binary says to settings and databases that cannot work: one line, no secret.

use std::process::Output;
use std::time::Duration;

use outbox_test_databases::{TestDatabase, on_postgres, on_sqlite, run, texts};
use outbox_tests::process::WorkerSetup;
use tokio::process::Command;

/// Longer than any of these commands takes on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);
const SECRET: &str = "hunter2";

/// Runs it to its end and returns the one line that it says.
async fn refused(mut command: Command) -> String {
    told(&ended(&mut command).await)
}

/// What a command said that ends by itself.
async fn ended(command: &mut Command) -> Output {
    let output = command.kill_on_drop(true).output();
    tokio::time::timeout(PATIENCE, output).await.expect("the command does not end").unwrap()
}

/// The one line of a command that was refused.
fn told(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("outbox-worker: "), "{said}");
    assert!(!said.contains(SECRET) && !said.contains("panicked"), "{said}");
    said
}

pub(crate) fn worker(database_url: &str, arguments: &[&str]) -> Command {
    WorkerSetup::new(database_url, "http://127.0.0.1:9").command(arguments)
}

fn with(variable: &str, value: &str) -> Command {
    let mut command = worker("sqlite:///nowhere/outbox.sqlite", &["stats"]);
    command.env(variable, value);
    command
}

#[tokio::test]
async fn an_unknown_setting_is_named_with_the_one_that_was_meant() {
    for (variable, key, meant) in [
        (
            "OUTBOX_DISPATCHER__LEESE",
            "dispatcher.leese",
            "dispatcher.lease (OUTBOX_DISPATCHER__LEASE)",
        ),
        (
            "OUTBOX_DISPACHER__LEASE",
            "dispacher.lease",
            "dispatcher.lease (OUTBOX_DISPATCHER__LEASE)",
        ),
        (
            "OUTBOX_SNS_TOPIC_ARN_PREFIX",
            "sns_topic_arn_prefix",
            "sns.topic_arn_prefix (OUTBOX_SNS__TOPIC_ARN_PREFIX)",
        ),
        ("OUTBOX_DATABASEURL", "databaseurl", "database_url (OUTBOX_DATABASE_URL)"),
    ] {
        let said = refused(with(variable, SECRET)).await;

        let wanted = format!("unknown setting {key} ({variable}): did you mean {meant}?");
        assert!(said.contains(&wanted), "{said}");
    }
}

#[tokio::test]
async fn an_unknown_setting_that_resembles_none_is_named_with_those_that_there_are() {
    for (variable, key, known) in [
        ("OUTBOX_POOL__MAX", "pool.max", "pool has connections"),
        ("OUTBOX_TABLES__X__Y", "tables.x.y", "tables has schema, prefix"),
        (
            "OUTBOX_SNS_REGION",
            "sns_region",
            "envelope, limit, filter_headers; AWS_REGION and the like",
        ),
        (
            "OUTBOX_SNS__TOPICS__ORDERS__COLOUR",
            "sns.topics.orders.colour",
            "sns.topics.orders has arn, envelope, limit, filter_headers",
        ),
        ("OUTBOX_FOO", "foo", "there are database_url, tables, outboxes, pool, dispatcher, retry"),
    ] {
        let said = refused(with(variable, SECRET)).await;

        assert!(said.contains(&format!("unknown setting {key} ({variable}): ")), "{said}");
        assert!(said.contains(known) && !said.contains("did you mean"), "{said}");
    }
}

#[tokio::test]
async fn a_section_that_is_set_as_if_it_were_a_value_is_told_with_a_key_of_it() {
    for (variable, example) in [
        ("OUTBOX_DISPATCHER", "OUTBOX_DISPATCHER__LEASE"),
        ("OUTBOX_SNS__TOPICS", "OUTBOX_SNS__TOPICS__NAME"),
    ] {
        let said = refused(with(variable, SECRET)).await;

        assert!(said.contains(&format!("({variable}) is a section: set {example}")), "{said}");
    }
}

#[tokio::test]
async fn a_bad_value_is_named_and_not_shown() {
    for (variable, key, wanted) in [
        ("OUTBOX_DISPATCHER__LEASE", "dispatcher.lease", "must be a duration like 500ms"),
        (
            "OUTBOX_DISPATCHER__CONCURRENCY",
            "dispatcher.concurrency",
            "must be a whole number above zero",
        ),
        ("OUTBOX_PUBLISHER", "publisher", "must be `log` or `sns`"),
        ("OUTBOX_SNS__LIMIT", "sns.limit", "must be a whole number"),
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
async fn outboxes_that_are_one_are_refused_with_what_would_part_them() {
    let mut command = with("OUTBOX_OUTBOXES__ORDERS__PREFIX", "outbox_");
    command.env("OUTBOX_OUTBOXES__BILLING__PREFIX", "outbox_");

    let said = refused(command).await;

    let wanted = "settings: outboxes.billing and outboxes.orders are one: give one of them another";
    assert!(said.contains(wanted), "{said}");
}

#[tokio::test]
async fn the_outbox_that_cannot_be_used_is_named() {
    let mut command = with("OUTBOX_OUTBOXES__ORDERS__PREFIX", "outbox_");
    command.env("OUTBOX_OUTBOXES__BILLING__PREFIX", "billing_");

    let said = refused(command).await;

    assert!(said.starts_with("outbox-worker: billing: "), "{said}");
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

/// What the settings file with this section is answered with.
async fn said_of(sns: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("outbox.toml");
    std::fs::write(&file, sns).unwrap();
    let mut command = worker("sqlite:///nowhere/outbox.sqlite", &["run", "--config"]);
    command.arg(&file).env_remove("OUTBOX_SNS__TOPIC_ARN_PREFIX");
    refused(command).await
}

#[tokio::test]
async fn what_no_topic_can_have_is_refused_with_the_setting() {
    const ARN: &str = "topic_arn_prefix = 'arn:aws:sns:eu-west-1:123456789012'";
    for (sns, wanted) in [
        ("limit = 1023", "sns (OUTBOX_SNS): setting limit must be 1024 to 1048576 bytes"),
        ("limit = 1048577", "sns (OUTBOX_SNS): setting limit must be 1024 to 1048576 bytes"),
        ("filter_headers = ['a b']", "sns (OUTBOX_SNS): setting filter_headers must be names of"),
        ("topics.orders.limit = 0", "TOPICS__ORDERS): setting limit must be 1024 to 1048576 bytes"),
        (
            "envelope = 'binary'\ntopics.orders.filter_headers = ['a', 'b']",
            "ORDERS): setting filter_headers must be one name at most in the binary form",
        ),
        ("topics.'a b'.limit = 2048", "topic `a b` is no name of an SNS topic"),
    ] {
        let said = said_of(&format!("[sns]\n{ARN}\n{sns}")).await;

        assert!(said.contains(wanted), "{said}");
    }
}

#[tokio::test]
async fn a_topic_that_is_none_is_refused_with_what_it_lacks() {
    const KEY: &str = "settings: sns.topics.orders (OUTBOX_SNS__TOPICS__ORDERS)";
    for (topic, wanted) in [
        (".limit = 2048", ": set its arn, or sns.topic_arn_prefix"),
        (" = 7", " must be an ARN or a section with arn, envelope, limit or filter_headers"),
        (" = 'orders'", ": "),
    ] {
        let said = said_of(&format!("[sns]\ntopics.orders{topic}")).await;

        assert!(said.contains(&format!("{KEY}{wanted}")), "{said}");
    }
    let said = said_of("[sns]\ntopics.orders.envelope = 'json'").await;
    assert!(said.contains("ORDERS__ENVELOPE) must be `binary` or `structured`"), "{said}");
}

#[tokio::test]
async fn an_unreachable_database_is_named_by_host_and_port() {
    let said = refused(worker(&format!("postgres://u:{SECRET}@127.0.0.1:1/app"), &["run"])).await;

    assert!(said.contains("PostgreSQL at 127.0.0.1 port 1 cannot be reached"), "{said}");
}

#[tokio::test]
async fn a_database_of_another_kind_is_refused_with_those_that_there_are() {
    let wanted =
        "the database URL must begin with postgres:// or mysql:// or mariadb:// or sqlite://";
    for scheme in ["mssql", SECRET] {
        for command in ["run", "stats", "migrate"] {
            let url = format!("{scheme}://u:{SECRET}@localhost/app");

            let said = refused(worker(&url, &[command])).await;

            assert_eq!(said.trim_end(), format!("outbox-worker: {wanted}"));
        }
    }
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

/// A role that may log in and read the outbox, with the URL that is its own.
struct Reader {
    name: String,
    url: String,
}

impl Reader {
    async fn new(database: &TestDatabase) -> Self {
        let name = format!("reader_{}", uuid::Uuid::new_v4().simple());
        let db = database.connect().await;
        let grant = format!("GRANT SELECT ON ALL TABLES IN SCHEMA public TO {name}");
        run(&db, &format!("CREATE ROLE {name} LOGIN PASSWORD '{SECRET}'; {grant}")).await;
        let url = database.url_as(&name, SECRET);
        Self { name, url }
    }

    /// Before anything is asserted: a role outlives the database of the test.
    async fn leave(self, database: &TestDatabase) {
        let Self { name, .. } = self;
        run(&database.connect().await, &format!("DROP OWNED BY {name}; DROP ROLE {name}")).await;
    }
}

#[tokio::test]
async fn a_role_without_grants_is_refused_with_those_that_it_needs_but_may_count() {
    on_postgres(async |database| {
        migrate(&database).await;
        let reader = Reader::new(&database).await;

        let ran = ended(&mut worker(&reader.url, &["run"])).await;
        let counted = ended(&mut worker(&reader.url, &["stats"])).await;

        reader.leave(&database).await;
        let said = told(&ran);
        for grant in [
            "GRANT DELETE ON \"outbox_claim\"",
            "GRANT INSERT ON \"outbox_dead_letter\"",
            "GRANT UPDATE ON \"outbox_lane\"",
            "GRANT UPDATE, DELETE ON \"outbox_message\"",
            "GRANT INSERT ON \"outbox_parked\"",
            "GRANT INSERT, UPDATE ON \"outbox_parked_key\"",
            "GRANT INSERT, UPDATE, DELETE ON \"outbox_worker\" to it",
        ] {
            assert!(said.contains(grant), "{grant} is missing in: {said}");
        }
        assert!(counted.status.success(), "{}", String::from_utf8_lossy(&counted.stderr));
    })
    .await;
}

async fn a_database_that_takes_no_writes(url: &str, wanted: &str) {
    let said = refused(worker(url, &["run"])).await;
    let counted = ended(&mut worker(url, &["stats"])).await;

    assert!(said.contains(wanted), "{said}");
    assert!(counted.status.success(), "{}", String::from_utf8_lossy(&counted.stderr));
}

#[tokio::test]
async fn a_postgres_that_takes_no_writes_is_refused_but_counted() {
    on_postgres(async |database| {
        migrate(&database).await;
        let db = database.connect().await;
        let name = texts(&db, "SELECT current_database()::text").await.remove(0);
        run(&db, &format!("ALTER DATABASE {name} SET default_transaction_read_only = on")).await;

        a_database_that_takes_no_writes(&database.url, "this PostgreSQL takes no writes").await;
    })
    .await;
}

#[tokio::test]
async fn a_sqlite_file_that_takes_no_writes_is_refused_but_counted() {
    on_sqlite(async |database| {
        migrate(&database).await;
        let url = database.url.replace("mode=rwc", "mode=ro");

        a_database_that_takes_no_writes(&url, "this SQLite database takes no writes").await;
    })
    .await;
}

pub(crate) async fn migrate(database: &TestDatabase) {
    // Of SQLite the worker makes no file.
    database.connect().await;
    let migrated = ended(&mut worker(&database.url, &["migrate"])).await;
    assert!(migrated.status.success(), "{}", String::from_utf8_lossy(&migrated.stderr));
}
