//! The binary as an operator runs it.

use std::process::{Child, Command, Output, Stdio};

use outbox_test_databases::{TestDatabase, number, on_mariadb, on_postgres, on_sqlite, texts};

use crate::{
    catalogue::tables,
    promises::{CREATE, TABLES},
};

crate::on_each!(cli: eight_processes_can_migrate_at_once);

#[tokio::test]
async fn up_status_and_down_work_on_a_file() {
    on_sqlite(async |database| {
        let url = ["--database-url", &database.url];

        assert_eq!(told(&run(&[&["status"], &url[..]].concat())), format!("pending  {CREATE}\n"));
        for _ in 0..2 {
            let up = run(&[&["up"], &url[..]].concat());
            assert_eq!(told(&up), format!("applied  {CREATE}\n"));
        }
        assert_eq!(tables(&database.connect().await).await, TABLES);

        let down = run(&[&["down", "--yes-drop-all-outbox-data"], &url[..]].concat());
        assert_eq!(told(&down), format!("pending  {CREATE}\n"));
        assert!(tables(&database.connect().await).await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn up_takes_schema_prefix_and_the_environment() {
    on_postgres(async |database| {
        let output = command(&["up", "--schema", "billing", "--prefix", "mail_"])
            .env("DATABASE_URL", &database.url)
            .output()
            .unwrap();

        assert_eq!(told(&output), format!("applied  {CREATE}@\"billing\".\"mail_\"\n"));
    })
    .await;
}

#[tokio::test]
async fn down_does_nothing_without_its_long_flag() {
    on_sqlite(async |database| {
        migrate(&database).await;

        let output = run(&["down", "--database-url", &database.url]);

        assert!(refused(&output).contains("--yes-drop-all-outbox-data"));
        assert_eq!(tables(&database.connect().await).await, TABLES);
    })
    .await;
}

#[test]
fn a_missing_url_is_named() {
    assert!(refused(&run(&["up"])).contains("pass --database-url or set DATABASE_URL"));
}

#[tokio::test]
async fn a_url_may_say_mariadb() {
    on_mariadb(async |database| {
        let url = database.url.replace("mysql:", "mariadb:");

        let up = run(&["up", "--database-url", &url]);

        assert_eq!(told(&up), format!("applied  {CREATE}\n"));
        assert_eq!(tables(&database.connect().await).await, TABLES);
    })
    .await;
}

pub(crate) async fn eight_processes_can_migrate_at_once(database: TestDatabase) {
    let start = || {
        let mut command = command(&["up", "--database-url", &database.url]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let processes: Vec<Child> = (0..8).map(|_| start()).collect();

    for process in processes {
        let ended = process.wait_with_output().unwrap();
        assert_eq!(told(&ended), format!("applied  {CREATE}\n"));
    }
    let db = database.connect().await;
    assert_eq!(tables(&db).await, TABLES);
    assert_eq!(texts(&db, "SELECT version FROM outbox_migrations").await, [CREATE]);
    assert_eq!(number(&db, "SELECT count(*) FROM outbox_lane").await, 64);
    assert_eq!(number(&db, "SELECT count(*) FROM outbox_meta").await, 1);
}

#[test]
fn a_prefix_that_the_database_would_cut_is_refused_before_connecting() {
    let url = "postgres://u:hunter2@127.0.0.1:1/db";
    let prefix = "x".repeat(40);
    let output = run(&["up", "--prefix", &prefix, "--database-url", url]);

    assert!(refused(&output).contains("prefix must be at most 39 bytes"));
}

#[test]
fn an_unreachable_database_is_one_line() {
    let url = "postgres://u:hunter2@127.0.0.1:1/db";
    let output = run(&["up", "--connect-timeout", "1", "--database-url", url]);

    assert!(refused(&output).contains("accepted no connection within 1 s"));
}

#[test]
fn no_message_repeats_the_password() {
    for url in [
        "postgres://u:hunter2@127.0.0.1:port/db",
        "postgres://u:hunter2#x@127.0.0.1:1/db",
        "postgres://u:hunter2/x@127.0.0.1:1/db",
        "postgres://u:hunter2@[::/db",
        "postgres://u:hunter2@127.0.0.1:1/db?sslmode=perhaps",
        "mysql://u:hunter2@127.0.0.1:port/db",
        "mysql://u:hunter2@127.0.0.1:1/db?ssl-mode=perhaps",
        "mariadb://u:hunter2@127.0.0.1:1/db",
        "oracle://u:hunter2@127.0.0.1:1/db",
        "u:hunter2@127.0.0.1:1/db",
        "hunter2",
        ":hunter2",
    ] {
        refused(&run(&["up", "--connect-timeout", "1", "--database-url", url]));
    }
}

#[test]
fn the_help_does_not_show_the_environment() {
    let help = command(&["--help"]).env("DATABASE_URL", "postgres://u:hunter2@h/db").output();

    assert!(!told(&help.unwrap()).contains("hunter2"));
}

async fn migrate(database: &TestDatabase) {
    outbox_migration::migrate(&database.connect().await).await.unwrap();
}

pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_outbox-migration"));
    command.args(arguments).env_remove("DATABASE_URL");
    command
}

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn told(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The one line of a refusal, which ends with code 1 and says no password.
fn refused(output: &Output) -> String {
    let line = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(1), "{line}");
    assert_eq!(line.lines().count(), 1, "{line}");
    assert!(line.starts_with("error: ") && !line.contains("hunter2"), "{line}");
    line
}
