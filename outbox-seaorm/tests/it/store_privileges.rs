//! What a role must be allowed, and what the check says to one that is not.

use std::num::NonZeroU32;
use std::time::Duration;

use outbox_core::{
    DeadReason, Failure, FailureKind, Format, LaneLease, OutboxStore, OutcomeKind, RecordRef,
    StoreError, StoreErrorKind, TableNames, WorkerCard, WorkerId,
};
use outbox_seaorm::{PoolOptions, SeaOrmStore, connect};

use crate::database::{ROLE_PASSWORD, TestDatabase, on_postgres, on_sqlite};
use crate::store_errors::chain;
use crate::store_fixture::{HOUR, LEASE, Outbox, from_start, lasting, outcome, sample};

const TABLES: [&str; 7] =
    ["claim", "dead_letter", "lane", "message", "parked", "parked_key", "worker"];

/// A role that may log in and nothing else, and the store that it has.
struct Guest {
    outbox: Outbox,
    name: String,
    store: SeaOrmStore,
}

impl Guest {
    async fn new(database: TestDatabase, tables: TableNames) -> Self {
        let outbox = Outbox::new(database);
        let name = format!("guest_{}", outbox.worker.uuid().simple());
        outbox.run(&format!("CREATE ROLE {name} LOGIN PASSWORD '{ROLE_PASSWORD}'")).await;
        let store = SeaOrmStore::new(outbox.database.pool_as(&name).await, tables).unwrap();
        Self { outbox, name, store }
    }

    async fn grant(&self, what: &str) {
        self.outbox.run(&format!("GRANT {what} TO {}", self.name)).await;
    }

    async fn revoke(&self, what: &str) {
        self.outbox.run(&format!("REVOKE {what} FROM {}", self.name)).await;
    }

    /// Before anything is asserted: a role outlives the database of the test.
    async fn leave(self) {
        self.outbox.run(&format!("DROP OWNED BY {0}; DROP ROLE {0}", self.name)).await;
    }
}

/// The grants that an error names.
pub(crate) fn grants(error: &StoreError) -> Vec<String> {
    assert_eq!(error.kind(), StoreErrorKind::PermissionDenied);
    let text = chain(error);
    let named = text.strip_suffix(" to it").and_then(|text| text.split_once("GRANT "));
    let (_, named) = named.unwrap_or_else(|| panic!("no grant in: {text}"));
    named.split(" and GRANT ").map(str::to_owned).collect()
}

#[tokio::test]
async fn a_role_with_no_more_than_the_grants_that_are_named_can_do_all_work_on_postgres() {
    on_postgres(|database| async move {
        let guest = Guest::new(database, TableNames::default()).await;
        let refused = guest.store.check().await.unwrap_err();
        for grant in grants(&refused) {
            guest.grant(&grant).await;
        }

        let passed = guest.store.check().await;
        let worked = work(&guest.outbox, &guest.store).await;

        guest.leave().await;
        passed.unwrap();
        worked.unwrap();
    })
    .await;
}

/// Every call of the store, and every way in which an attempt can end.
pub(crate) async fn work(outbox: &Outbox, store: &SeaOrmStore) -> Result<(), StoreError> {
    let leases = store.lease(&outbox.request(1)).await?;
    let lease: &LaneLease = &leases[0];
    let head = outbox.insert(sample(0).key("a")).await;
    let behind = outbox.insert(sample(0).key("a")).await;
    let [sent, failed, dead] = outbox.fill(0, 3).await[..] else { panic!("three records") };
    let dying = |parks_key| OutcomeKind::Dead {
        reason: DeadReason::Rejected,
        error: "too large".to_owned(),
        parks_key,
    };
    let failure = Failure::new(FailureKind::Transient, "busy");

    // One that is over, because only such a claim is deleted.
    outbox.insert_claim(RecordRef { lane: lease.lane, ..failed }, -HOUR).await;

    store.renew(&leases, lasting(LEASE)).await?;
    store.acquired(&leases).await?;
    store.read(&from_start(&[0])).await?;
    store.settle(&[outcome(lease, sent, OutcomeKind::Published)]).await?;
    let failed = outcome(lease, failed, OutcomeKind::Failed { failure, delay: Duration::ZERO });
    let dead = outcome(lease, dead, dying(false));
    store.settle(&[failed, dead, outcome(lease, head, dying(true))]).await?;
    store.settle(&[outcome(lease, behind, OutcomeKind::Parked)]).await?;
    store.heartbeat(&card()).await?;
    store.stats().await?;
    store.release(&leases).await?;

    assert_eq!(outbox.count("parked").await, 1);
    assert_eq!(outbox.count("dead_letter").await, 2);
    assert_eq!(outbox.count("message").await, 1);
    Ok(())
}

fn card() -> WorkerCard {
    WorkerCard {
        id: WorkerId::new(),
        version: "0.1.0".to_owned(),
        max_format: Format::CURRENT,
        topics: vec!["orders".to_owned()],
        lacks: Vec::new(),
        wants_lanes: Some(64),
        alive_for: Duration::from_secs(30),
    }
}

#[tokio::test]
async fn each_grant_is_needed_and_named_alone_when_it_is_missing_on_postgres() {
    on_postgres(|database| async move {
        let guest = Guest::new(database, TableNames::default()).await;
        let all = grants(&guest.store.check().await.unwrap_err());
        for grant in &all {
            guest.grant(grant).await;
        }
        let mut without = Vec::new();
        for grant in &all {
            let (privileges, table) = grant.split_once(" ON ").unwrap();
            for privilege in privileges.split(", ") {
                let one = format!("{privilege} ON {table}");
                guest.revoke(&one).await;
                let named = guest.store.check().await.map_err(|error| grants(&error));
                let worked = work(&guest.outbox, &guest.store).await.map_err(|error| error.kind());
                guest.grant(&one).await;
                without.push((one, named, worked));
            }
        }

        guest.leave().await;
        assert_eq!(without.len(), 18);
        for (grant, named, worked) in without {
            assert_eq!(worked, Err(StoreErrorKind::PermissionDenied), "{grant}");
            assert_eq!(named, Err(vec![grant]));
        }
    })
    .await;
}

#[tokio::test]
async fn a_role_that_may_only_read_passes_the_check_of_the_tables_on_postgres() {
    on_postgres(|database| async move {
        let guest = Guest::new(database, TableNames::default()).await;
        let refused = guest.store.check_tables().await.unwrap_err();
        for grant in grants(&refused) {
            guest.grant(&grant).await;
        }

        let passed = guest.store.check_tables().await;
        let counted = guest.store.stats().await;
        let worker = guest.store.check().await.map_err(|error| error.kind());

        guest.leave().await;
        let select = |table: &str| format!("SELECT ON \"outbox_{table}\"");
        assert_eq!(grants(&refused), TABLES.map(select));
        passed.unwrap();
        assert!(counted.unwrap().ready.is_empty());
        assert_eq!(worker, Err(StoreErrorKind::PermissionDenied));
    })
    .await;
}

#[tokio::test]
async fn a_grant_on_the_columns_that_are_written_suffices_on_postgres() {
    on_postgres(|database| async move {
        let guest = Guest::new(database, TableNames::default()).await;
        for grant in grants(&guest.store.check().await.unwrap_err()) {
            guest.grant(&grant).await;
        }
        guest.revoke("UPDATE ON outbox_lane").await;
        guest.grant("UPDATE (token, owner, expires_at) ON outbox_lane").await;
        let losses = "abandoned, suspect_id, suspect_position, suspect_deaths";
        guest.grant(&format!("UPDATE ({losses}) ON outbox_lane")).await;

        let passed = guest.store.check().await;
        let worked = work(&guest.outbox, &guest.store).await;

        guest.leave().await;
        passed.unwrap();
        worked.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_schema_that_may_not_be_used_is_named_with_its_tables_on_postgres() {
    on_postgres(|database| async move {
        let names = TableNames::new(Some("its \"Own\""), "o'").unwrap();
        sea_orm::ConnectionTrait::execute_unprepared(
            &database.db,
            r#"CREATE SCHEMA "its ""Own""""#,
        )
        .await
        .unwrap();
        outbox_migration::migrate_with(&database.db, &names).await.unwrap();
        let guest = Guest::new(database, names).await;
        let refused = guest.store.check().await.unwrap_err();
        for grant in grants(&refused) {
            guest.grant(&grant).await;
        }

        let passed = guest.store.check().await;

        guest.leave().await;
        let grants = grants(&refused);
        assert_eq!(grants[0], r#"USAGE ON SCHEMA "its ""Own""""#);
        let lane = r#"SELECT, UPDATE ON "its ""Own"""."o'lane""#.to_owned();
        assert!(grants.contains(&lane), "{grants:?}");
        passed.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_server_that_takes_no_writes_does_not_pass_the_check_on_postgres() {
    on_postgres(|database| async move {
        let outbox = Outbox::new(database);
        let name: String = outbox.value("SELECT current_database()::text").await;
        outbox.run(&format!("ALTER DATABASE {name} SET default_transaction_read_only = on")).await;
        let db = outbox.database.pool(1).await;
        let store = SeaOrmStore::new(db, TableNames::default()).unwrap();

        let error = store.check().await.unwrap_err();

        assert_eq!(error.kind(), StoreErrorKind::ReadOnly);
        assert!(chain(&error).contains("use the primary server"), "{}", chain(&error));
        store.check_tables().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_file_that_takes_no_writes_does_not_pass_the_check_on_sqlite() {
    on_sqlite(|database| async move {
        // As whoever writes to it has it.
        connect(&database.url, PoolOptions::default()).await.unwrap();
        let url = database.url.replace("mode=rwc", "mode=ro");
        let one = PoolOptions { max_connections: NonZeroU32::MIN, ..PoolOptions::default() };
        let store =
            SeaOrmStore::new(connect(&url, one).await.unwrap(), TableNames::default()).unwrap();

        let error = store.check().await.unwrap_err();

        assert_eq!(error.kind(), StoreErrorKind::ReadOnly);
        assert!(chain(&error).contains("the file and its folder must be writable"));
        store.check_tables().await.unwrap();
        assert!(store.stats().await.unwrap().ready.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_file_that_another_is_writing_passes_the_check_on_sqlite() {
    on_sqlite(|database| async move {
        let outbox = Outbox::new(database);
        let db = outbox.database.pool(1).await;
        sea_orm::ConnectionTrait::execute_unprepared(&db, "PRAGMA busy_timeout = 0").await.unwrap();
        let store = SeaOrmStore::new(db, TableNames::default()).unwrap();
        let writer = sea_orm::TransactionTrait::begin(&outbox.db).await.unwrap();
        crate::store_fixture::insert(&writer, &sample(0)).await;

        let passed = store.check().await;

        passed.unwrap();
        writer.rollback().await.unwrap();
    })
    .await;
}
