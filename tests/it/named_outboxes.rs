//! The worker binary with several outboxes in its settings.

use std::collections::HashSet;

use outbox_core::{EventId, TableNames};
use outbox_seaorm::{EventExt, OutboxSettings, Stage, scope};
use outbox_tests::shop::Repriced;
use sea_orm::{DatabaseConnection, TransactionTrait};

use crate::scene::{Scene, on_mariadb, on_postgres};

const SETTINGS: &str = r#"
[outboxes.orders]

[outboxes.billing]
prefix = "Billing_"
"#;

/// Stages one event in a transaction of its own.
async fn stage(db: &DatabaseConnection, prefix: &str) -> EventId {
    let (id, names) = (EventId::new(), TableNames::new(None, prefix).unwrap());
    let settings = OutboxSettings::new("https://shop.example").tables(names);
    let staging = async {
        let txn = db.begin().await.unwrap();
        txn.stage(Repriced { order_id: 1, total: 1 }.with_id(id)).await.unwrap();
        txn.commit().await.unwrap();
    };
    scope(settings, staging).await;
    id
}

async fn a_file_names_two(scene: &Scene) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("outbox.toml");
    std::fs::write(&file, SETTINGS).unwrap();
    let mut setup = scene.setup();
    setup.settings_file = Some(file);
    let migrated = setup.command(&["migrate"]).output().await.unwrap();
    let db = scene.database.connect().await;
    let staged = [stage(&db, "outbox_").await, stage(&db, "Billing_").await];
    let counted = setup.command(&["stats", "--json"]).output().await.unwrap();

    let running = setup.command(&["run", "--until-idle"]).kill_on_drop(true).output();
    let ran = scene.within("the end of the run", running).await.unwrap();

    let said = String::from_utf8(migrated.stdout).unwrap();
    let tables =
        ["billing", "orders"].map(|name| format!("outbox tables of {name} are up to date\n"));
    assert_eq!(said, tables.concat());
    let counted: serde_json::Value = serde_json::from_slice(&counted.stdout).unwrap();
    let ready = ["billing", "orders"].map(|name| &counted[name]["ready"]["count"]);
    assert_eq!(ready, [&serde_json::json!(1); 2]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let journal = scene.stub.journal();
    let sent: HashSet<_> = journal.iter().filter_map(|one| one.attribute("ce_id")).collect();
    let staged = staged.map(|id| id.to_string());
    assert_eq!(sent, staged.iter().map(String::as_str).collect());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_worker_serves_each_outbox_of_its_settings_on_mariadb() {
    on_mariadb(a_file_names_two).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_worker_serves_each_outbox_of_its_settings_on_postgres() {
    on_postgres(a_file_names_two).await;
}
