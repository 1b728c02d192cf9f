//! What the commands of the worker binary print when all is well.

use outbox_test_databases::{number, on_postgres, on_sqlite, run};

use crate::bad_input::{migrate, worker};

#[tokio::test]
async fn migrate_makes_the_tables_and_stats_counts_them() {
    on_postgres(async |database| {
        migrate(&database).await;
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

#[tokio::test]
async fn stats_says_where_the_errors_of_failed_records_are_and_only_then() {
    on_sqlite(async |database| {
        migrate(&database).await;
        let db = database.connect().await;
        let stats = async || {
            let counted = worker(&database.url, &["stats"]).output().await.unwrap();
            String::from_utf8(counted.stdout).unwrap()
        };

        let empty = stats().await;
        run(&db, &record("message", "9223372036854775807, 1, 'busy'")).await;
        let retrying = stats().await;
        run(&db, &record("dead_letter", "NULL, 9, 'too large'")).await;
        let dead = stats().await;

        assert!(!empty.contains("last_error"), "{empty}");
        let why = "why          column last_error of \"outbox_message\" (retrying)";
        assert_eq!(retrying.lines().last(), Some(why));
        let why = format!("{why} and \"outbox_dead_letter\" (dead)");
        assert_eq!(dead.lines().last(), Some(why.as_str()));
    })
    .await;
}

/// An insert of a record with these values of `available_at`, `attempts` and `last_error`.
fn record(table: &str, values: &str) -> String {
    let (reason, rejected) =
        if table == "dead_letter" { (", reason", ", 'rejected'") } else { ("", "") };
    format!(
        "INSERT INTO outbox_{table} (lane, position, id, format, event_type, event_version, topic,
            source, content_type, payload, size, occurred_at, created_at, available_at, attempts,
            last_error{reason})
        VALUES (0, 1, randomblob(16), 1, 'a', 1, 'orders', 's', 'application/json', x'7b7d', 2,
            0, 0, {values}{rejected})"
    )
}

#[tokio::test]
async fn each_command_explains_itself_with_an_example() {
    for (command, parts) in [
        ("migrate", &["the right to create tables"][..]),
        ("run", &["OUTBOX_PUBLISHER=log", "sent nowhere", "standard AWS chain"]),
        ("stats", &["waits behind a dead record of its key", "--json"]),
    ] {
        let helped = worker("", &[command, "--help"]).output().await.unwrap();

        let text = String::from_utf8(helped.stdout).unwrap();
        for part in parts {
            assert!(text.contains(part), "{part} is missing in:\n{text}");
        }
        let (_, example) = text.split_once("\nExample").unwrap();
        assert!(example.contains(&format!("outbox-worker {command}")), "{text}");
    }
}
