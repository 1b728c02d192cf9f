//! Each outbox has its own tables and its own history, whatever its name.

use outbox_migration::{TableNames, migrate_with, migrations, migrations_with, status_with};
use outbox_test_databases::{TestDatabase, number, on_postgres, on_sqlite};

/// Capitals, dashes, dots and both quotes.
const HOSTILE: &str = "My-o'ut\"b.ox ";

#[test]
fn each_outbox_has_a_migration_name_of_its_own() {
    let of = |schema, prefix| {
        let names = TableNames::new(schema, prefix).unwrap();
        migrations_with(&names)[0].name().to_owned()
    };
    let names = [
        migrations()[0].name().to_owned(),
        of(None, "mail_"),
        of(Some("a"), "outbox_"),
        of(Some("a"), "mail_"),
        of(Some("a_mail"), "_"),
        of(Some("a\".\"b"), "c"),
        of(Some("a"), "b\".\"c"),
    ];

    assert_eq!(names[0], "m20260101_000001_outbox_create");
    for (at, name) in names.iter().enumerate() {
        assert!(!names[..at].contains(name), "{name}");
    }
}

async fn hostile_names_are_quoted(database: TestDatabase, schema: Option<&str>) {
    let db = database.connect().await;
    let names = TableNames::new(schema, HOSTILE).unwrap();

    migrate_with(&db, &names).await.unwrap();
    migrate_with(&db, &names).await.unwrap();

    assert!(status_with(&db, &names).await.unwrap().pending.is_empty());
    let lanes = format!("SELECT count(*) FROM {}", names.quoted("lane", '"'));
    assert_eq!(number(&db, &lanes).await, 64);
}

#[tokio::test]
async fn names_that_need_quoting_are_quoted_on_sqlite() {
    on_sqlite(|database| hostile_names_are_quoted(database, None)).await;
}

#[tokio::test]
async fn names_that_need_quoting_are_quoted_on_postgres() {
    on_postgres(|database| hostile_names_are_quoted(database, Some("Sch'e\"ma"))).await;
}
