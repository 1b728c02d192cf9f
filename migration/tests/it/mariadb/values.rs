//! What the columns keep, whatever the session's SQL mode is.

use outbox_migration::migrate;
use sea_orm_migration::sea_orm::{ConnectionTrait, DatabaseConnection};

use outbox_test_databases::{TestDatabase, number, on_mariadb, texts};

use crate::promises::{is_a_check, message};

#[tokio::test]
async fn keys_are_told_apart_byte_for_byte() {
    on_mariadb(async |database| {
        let db = lenient(&database).await;
        let alike = ["k", "k ", "k  ", "K", "ḱ", "k\u{301}", "ⓚ", "k\t", "", " "];

        for key in alike {
            for sql in [
                format!(
                    "INSERT INTO outbox_parked_key
                         (topic, ordering_key, dead_id, dead_lane, dead_position, lane)
                     VALUES ('orders', '{key}', '', 1, 1, 1)"
                ),
                format!("INSERT INTO outbox_inbox (consumer, message_id) VALUES ('{key}', '')"),
                message(1),
                format!(
                    "UPDATE outbox_message SET ordering_key = '{key}', topic = '{key}'
                     WHERE ordering_key IS NULL"
                ),
            ] {
                db.execute_unprepared(&sql).await.unwrap();
            }
        }

        for key in alike {
            for found in [
                format!("outbox_parked_key WHERE ordering_key = '{key}'"),
                format!("outbox_inbox WHERE consumer = '{key}'"),
                format!("outbox_message WHERE ordering_key = '{key}' AND topic = '{key}'"),
                format!(
                    "outbox_message m JOIN outbox_parked_key p ON p.ordering_key = m.ordering_key
                     WHERE m.topic = '{key}'"
                ),
            ] {
                let count = number(&db, &format!("SELECT count(*) FROM {found}")).await;
                assert_eq!(count, 1, "{found}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn what_does_not_fit_is_an_error() {
    on_mariadb(async |database| {
        let db = lenient(&database).await;
        db.execute_unprepared(&message(1)).await.unwrap();
        db.execute_unprepared(PARKED).await.unwrap();

        for change in [
            "outbox_message SET topic = REPEAT('t', 257)",
            "outbox_message SET topic = REPEAT('t', 3000)",
            "outbox_message SET ordering_key = REPEAT('k', 511)",
            "outbox_message SET ordering_key = REPEAT('é', 600)",
            // What is lost of these are spaces, which is no error in any mode.
            "outbox_message SET ordering_key = CONCAT('k', REPEAT(' ', 600))",
            "outbox_message SET topic = CONCAT('t', REPEAT(' ', 600))",
            "outbox_message SET occurred_at = '10000-01-01'",
            "outbox_message SET deliver_at = '2026-02-31'",
            "outbox_message SET available_at = 'soon'",
            "outbox_message SET lane = 70000",
            "outbox_parked_key SET topic = REPEAT('t', 257)",
            "outbox_parked_key SET ordering_key = REPEAT('k', 511)",
            "outbox_inbox SET consumer = REPEAT('c', 256)",
            "outbox_audit SET action = 'replay       '",
            "outbox_audit SET action = 'replayed'",
        ] {
            let error = db.execute_unprepared(&format!("UPDATE {change}")).await.unwrap_err();
            assert!(is_a_check(&error.to_string()), "{change}: {error}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_longest_keys_are_kept_whole() {
    on_mariadb(async |database| {
        let db = lenient(&database).await;
        db.execute_unprepared(&message(1)).await.unwrap();
        db.execute_unprepared(PARKED).await.unwrap();

        for (change, kept) in [
            ("outbox_message SET topic = REPEAT('t', 256)", "topic"),
            ("outbox_message SET ordering_key = REPEAT('😀', 510)", "ordering_key"),
            ("outbox_parked_key SET topic = REPEAT('😀', 256)", "topic"),
            ("outbox_parked_key SET ordering_key = REPEAT('😀', 510)", "ordering_key"),
            ("outbox_inbox SET consumer = REPEAT('😀', 255)", "consumer"),
        ] {
            db.execute_unprepared(&format!("UPDATE {change}")).await.unwrap();

            let (table, value) = change.split_once(" SET ").unwrap();
            let whole = format!("SELECT count(*) FROM {table} WHERE {value}");
            assert_eq!(number(&db, &whole).await, 1, "{kept}: {whole}");
        }
    })
    .await;
}

#[tokio::test]
async fn long_texts_and_payloads_are_kept_whole() {
    on_mariadb(async |database| {
        let db = lenient(&database).await;
        db.execute_unprepared(&message(1)).await.unwrap();
        let texts = "SELECT column_name FROM information_schema.columns
                     WHERE table_schema = DATABASE() AND table_name = 'outbox_message'
                       AND data_type IN ('longtext', 'longblob')";
        let columns = self::texts(&db, texts).await;
        assert_eq!(columns.len(), 14, "{columns:?}");

        // All at once, so that they must also fit a row together.
        for length in [300, 600, 70_000] {
            let set: Vec<String> =
                columns.iter().map(|column| format!("{column} = REPEAT('é', {length})")).collect();
            let update = format!("UPDATE outbox_message SET {}", set.join(", "));
            db.execute_unprepared(&update).await.unwrap();

            for column in &columns {
                let bytes = format!("SELECT OCTET_LENGTH({column}) FROM outbox_message");
                assert_eq!(number(&db, &bytes).await, 2 * length, "{column}");
            }
        }
    })
    .await;
}

/// One row in each of the tables with a limit.
const PARKED: &str = "BEGIN NOT ATOMIC
    INSERT INTO outbox_parked_key
        (topic, ordering_key, dead_id, dead_lane, dead_position, lane)
    VALUES ('orders', 'k', '', 1, 1, 1);
    INSERT INTO outbox_inbox (consumer, message_id) VALUES ('mailer', '');
    INSERT INTO outbox_audit (id, action, message_id, actor, reason)
    VALUES ('', 'replay', '', 'ops', 'test');
END";

/// A connection that cuts what does not fit, where the tables let it.
async fn lenient(database: &TestDatabase) -> DatabaseConnection {
    let db = database.connect_with(1).await;
    migrate(&db).await.unwrap();
    db.execute_unprepared("SET SESSION sql_mode = ''").await.unwrap();
    for sql in
        ["CREATE TEMPORARY TABLE cut (short VARCHAR(2))", "INSERT INTO cut (short) VALUES ('long')"]
    {
        db.execute_unprepared(sql).await.unwrap();
    }
    assert_eq!(texts(&db, "SELECT short FROM cut").await, ["lo"]);
    db
}
