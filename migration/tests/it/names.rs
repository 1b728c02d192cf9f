//! Each outbox has its own tables and its own history, whatever its name.

use outbox_migration::{
    TableNames, drop_all_with, migrate_with, migrations, migrations_with, status_with,
};
use outbox_test_databases::{TestDatabase, number, on_mariadb, on_postgres, on_sqlite};
use sea_orm_migration::sea_orm::ConnectionTrait;

/// Capitals, dashes, dots, spaces and all quotes.
const HOSTILE: &str = "My-o'ut\"b`.ox ";

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

async fn are_quoted(database: TestDatabase, schema: Option<String>, prefix: &str) {
    let db = database.connect().await;
    let names = TableNames::new(schema.as_deref(), prefix).unwrap();

    migrate_with(&db, &names).await.unwrap();
    migrate_with(&db, &names).await.unwrap();

    assert!(status_with(&db, &names).await.unwrap().pending.is_empty());
    let quote = if database.is_mariadb() { '`' } else { '"' };
    let lanes = format!("SELECT count(*) FROM {}", names.quoted("lane", quote));
    assert_eq!(number(&db, &lanes).await, 64);
    drop_all_with(&db, &names).await.unwrap();
    assert!(db.execute_unprepared(&lanes).await.is_err());
}

#[tokio::test]
async fn names_that_need_quoting_are_quoted_on_mariadb() {
    on_mariadb(async |database| {
        let schema = database.name() + "Sch'e\"m`a";
        are_quoted(database, Some(schema), HOSTILE).await;
    })
    .await;
}

#[tokio::test]
async fn names_that_need_quoting_are_quoted_on_postgres() {
    on_postgres(|database| are_quoted(database, Some("Sch'e\"m`a".to_owned()), HOSTILE)).await;
}

#[tokio::test]
async fn names_that_need_quoting_are_quoted_on_sqlite() {
    on_sqlite(|database| are_quoted(database, None, HOSTILE)).await;
}

#[tokio::test]
async fn the_longest_names_fit_mariadb() {
    on_mariadb(async |database| {
        let schema = format!("{:s<63}", database.name());
        are_quoted(database, Some(schema), &"p".repeat(39)).await;
    })
    .await;
}

#[tokio::test]
async fn the_longest_names_fit_postgres() {
    on_postgres(async |database| {
        are_quoted(database, Some("s".repeat(63)), &"p".repeat(39)).await;
    })
    .await;
}

#[tokio::test]
async fn names_that_no_server_takes_are_refused_on_mariadb() {
    on_mariadb(async |database| {
        let db = database.connect().await;
        for (schema, prefix, named) in [
            (Some("\u{1F600}"), "outbox_", "U+FFFF"),
            (None, "\u{1F600}", "U+FFFF"),
            (Some("billing "), "outbox_", "ends with a space"),
        ] {
            let names = TableNames::new(schema, prefix).unwrap();

            let migrated = migrate_with(&db, &names).await.unwrap_err().to_string();
            let asked = status_with(&db, &names).await.unwrap_err().to_string();

            assert!(migrated.contains(named) && asked.contains(named), "{migrated} {asked}");
        }
    })
    .await;
}
