//! Several outboxes side by side, told apart by schema, prefix and database alone.

use outbox_core::{
    Count, DeadReason, LaneLease, LeaseRequest, OutboxStats, OutboxStore, OutcomeKind, TableNames,
    WorkerId,
};
use outbox_seaorm::{OutboxSettings, SeaOrmStore, Stage, scope};
use sea_orm::{DatabaseConnection, DbBackend, TransactionTrait};

use crate::database::{TestDatabase, count, on_mariadb, on_postgres, on_sqlite};
use crate::on_all;
use crate::shop::OrderPlaced;
use crate::store_fixture::{LEASE, from_start, lasting, outcome};

on_all!(store_named: outboxes_of_two_databases_keep_to_themselves);

/// An outbox of this name, its store, and where it stages.
struct Named {
    names: TableNames,
    db: DatabaseConnection,
    store: SeaOrmStore,
    leases: Vec<LaneLease>,
}

impl Named {
    async fn open(
        database: &TestDatabase,
        db: &DatabaseConnection,
        schema: Option<&str>,
        prefix: &str,
    ) -> Self {
        let names = TableNames::new(schema, prefix).unwrap();
        outbox_migration::migrate_with(db, &names).await.unwrap();
        // On a MariaDB the workers have an isolation of their own.
        let is_here = std::ptr::eq(db, &raw const database.db);
        let workers = if is_here { &database.workers } else { db };
        let store = SeaOrmStore::new(workers.clone(), names.clone()).unwrap();
        Self { names, db: db.clone(), store, leases: Vec::new() }
    }

    async fn stage(&self, nth: usize) {
        let settings = OutboxSettings::new(format!("urn:{nth}")).tables(self.names.clone());
        let staging = async {
            let txn = self.db.begin().await.unwrap();
            // One record more than the outbox before, of one lane.
            let events = (0..nth + 2).map(|_| OrderPlaced { order_id: 1, total: 1 });
            txn.stage_all(events.collect::<Vec<_>>()).await.unwrap();
            txn.commit().await.unwrap();
        };
        scope(settings, staging).await;
    }

    /// Leases all lanes, which another outbox has leased as well.
    async fn lease(&mut self) {
        let request = LeaseRequest {
            owner: WorkerId::new(),
            lanes: 64,
            lease: lasting(LEASE),
            orphans: None,
            except: Vec::new(),
            counts_abandoned: true,
        };
        self.leases = self.store.lease(&request).await.unwrap();
        assert_eq!(self.leases.len(), 64, "{:?}", self.names);
    }

    /// Reads what is its own, publishes one record and buries another.
    async fn send(&self, nth: usize) {
        let lanes: Vec<u8> = (0..64).collect();
        let batch = self.store.read(&from_start(&lanes)).await.unwrap();
        assert_eq!(batch.records.len(), nth + 2, "{:?}", self.names);
        let sources: Vec<&str> =
            batch.records.iter().map(|record| &*record.message.source).collect();
        assert_eq!(sources, vec![format!("urn:{nth}"); nth + 2], "{:?}", self.names);
        let [first, second] = [0, 1].map(|at| batch.records[at].reference);
        let lease = self.leases.iter().find(|lease| lease.lane == first.lane).unwrap();
        let (reason, error) = (DeadReason::Rejected, "no".to_owned());
        let dead = OutcomeKind::Dead { reason, error, parks_key: true };
        let outcomes =
            [outcome(lease, first, OutcomeKind::Published), outcome(lease, second, dead)];
        assert_eq!(self.store.settle(&outcomes).await.unwrap().applied.len(), 2);
    }

    async fn assert_left(&self, nth: usize) {
        let table = |word: &str| self.names.quoted(word, quote(&self.db));
        assert_eq!(count(&self.db, &table("message")).await, i64::try_from(nth).unwrap());
        for word in ["dead_letter", "parked_key"] {
            assert_eq!(count(&self.db, &table(word)).await, 1, "{word} of {:?}", self.names);
        }
        let stats: OutboxStats = self.store.stats().await.unwrap();
        let left = Count::Exact(u64::try_from(nth).unwrap());
        assert_eq!((stats.ready, stats.dead), (left, Count::Exact(1)), "{:?}", self.names);
        let lanes = self.store.acquired(&self.leases).await.unwrap();
        assert_eq!(lanes.iter().map(|lane| lane.parked.len()).sum::<usize>(), 1);
        self.store.check().await.unwrap();
        self.store.release(&self.leases).await.unwrap();
    }
}

fn quote(db: &DatabaseConnection) -> char {
    if db.get_database_backend() == DbBackend::MySql { '`' } else { '"' }
}

/// Each step in every outbox before the next one, so that what goes astray is seen.
async fn keep_to_themselves(mut outboxes: Vec<Named>) {
    for (nth, outbox) in outboxes.iter_mut().enumerate() {
        outbox.stage(nth).await;
        outbox.lease().await;
    }
    for (nth, outbox) in outboxes.iter().enumerate() {
        outbox.send(nth).await;
    }
    for (nth, outbox) in outboxes.iter().enumerate() {
        outbox.assert_left(nth).await;
    }
}

/// Capitals alone, and every character that a name must be quoted for.
const PREFIXES: [&str; 3] = ["outbox_", "Outbox_", "out-Box\"o'`x. "];

async fn open_all(database: &TestDatabase, schemas: &[Option<&str>]) -> Vec<Named> {
    let mut outboxes = Vec::new();
    for schema in schemas {
        for prefix in PREFIXES {
            outboxes.push(Named::open(database, &database.db, *schema, prefix).await);
        }
    }
    outboxes
}

#[tokio::test]
async fn outboxes_whose_names_differ_in_case_alone_keep_to_themselves_on_postgres() {
    on_postgres(|database| async move {
        let schemas = [None, Some("Side"), Some("side"), Some("si\"d-e")];
        keep_to_themselves(open_all(&database, &schemas).await).await;
    })
    .await;
}

/// As on any server whose tables are files of a file system that tells capitals apart.
#[tokio::test]
async fn outboxes_whose_names_differ_in_case_alone_keep_to_themselves_on_mariadb() {
    on_mariadb(|database| async move {
        let name = database.url.split('?').next().unwrap().rsplit('/').next().unwrap().to_owned();
        let [upper, lower, hostile] = ["Side", "side", "si`d-e"].map(|end| format!("{name}{end}"));
        let schemas = [None, Some(&*upper), Some(&*lower), Some(&*hostile)];
        keep_to_themselves(open_all(&database, &schemas).await).await;
    })
    .await;
}

#[tokio::test]
async fn outboxes_of_several_prefixes_keep_to_themselves_on_sqlite() {
    on_sqlite(|database| async move {
        let mut outboxes = Vec::new();
        for prefix in ["outbox_", "mail_", PREFIXES[2]] {
            outboxes.push(Named::open(&database, &database.db, None, prefix).await);
        }
        keep_to_themselves(outboxes).await;
    })
    .await;
}

/// SQLite does not tell capitals apart, so the second outbox would be the first one.
#[tokio::test]
async fn a_second_outbox_whose_name_differs_in_case_alone_is_refused_on_sqlite() {
    on_sqlite(|database| async move {
        let names = TableNames::new(None, "Outbox_").unwrap();

        let migrated = outbox_migration::migrate_with(&database.db, &names).await;

        let error = migrated.unwrap_err().to_string();
        assert!(error.contains("outbox_message"), "{error}");
    })
    .await;
}

async fn outboxes_of_two_databases_keep_to_themselves(database: TestDatabase) {
    let lent = outbox_test_databases::lend_sqlite();
    let other = lent.connect_with(1).await;
    let here = Named::open(&database, &database.db, None, "outbox_").await;
    let there = Named::open(&database, &other, None, "outbox_").await;

    keep_to_themselves(vec![here, there]).await;
}
