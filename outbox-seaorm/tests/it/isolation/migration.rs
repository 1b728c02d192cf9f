//! Migrations beside leases.

use std::collections::BTreeMap;
use std::time::Instant;

use outbox_core::{LaneLease, OutboxStore, StoreErrorKind, TableNames, WorkerId};
use outbox_migration::{drop_all, migrate};
use outbox_seaorm::SeaOrmStore;
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use super::gate::Stops;
use super::order::Orders;
use super::roles::request;
use super::scene::hold;
use super::schedule::{Stage, Trace};
use super::server::Server;
use super::session::{Script, Told};
use crate::database::{TestDatabase, rows};
use crate::store_fixture::lane;

/// What the migration finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    Nothing,
    /// The tables, with a lease, and nobody remembers who made them.
    Tables,
}

struct Migrating {
    stage: Stage,
    /// Of a worker, which checks the schema.
    store: SeaOrmStore,
    leased: Told<LaneLease>,
}

impl Migrating {
    async fn open(database: &TestDatabase, sessions: usize) -> Self {
        let server = Server::open(database).await;
        let stage = Stage::open(server, sessions, Stops::Lanes).await;
        let store = SeaOrmStore::new(database.workers.clone(), TableNames::default()).unwrap();
        Self { stage, store, leased: Told::new() }
    }

    /// Plays one order and checks that there are all tables, all lanes and all leases.
    async fn play(&mut self, orders: &mut Orders, before: Before, scripts: Vec<Script>) {
        let server = self.stage.server.clone();
        let mut leases = BTreeMap::new();
        if before == Before::Nothing {
            drop_all(&server.db).await.unwrap();
        } else {
            let free = "UPDATE outbox_lane SET token = NULL, expires_at = NULL";
            let (lease, grant) = hold(&server, WorkerId::new(), lane(1));
            for sql in ["DELETE FROM outbox_migrations", free, &grant] {
                server.db.execute_unprepared(sql).await.unwrap();
            }
            leases.insert(1, lease.token.uuid());
        }
        let mut play = self.stage.begin(scripts, false).await;
        while !play.is_over() {
            play.step(orders).await;
        }
        let trace = play.trace;
        orders.ended();
        for lease in self.leased.take() {
            let twice = leases.insert(lease.lane.number().into(), lease.token.uuid());
            assert_eq!(twice, None, "lane {} was leased before\n{}", lease.lane, trace.text());
        }
        self.judge(&leases, &trace).await;
    }

    async fn judge(&self, leases: &BTreeMap<i16, Uuid>, trace: &Trace) {
        let checked = self.store.check().await;
        assert!(checked.is_ok(), "{checked:?}\n{}", trace.text());
        let lanes = "SELECT lane, token FROM outbox_lane WHERE token IS NOT NULL";
        let rows = rows(&self.stage.server.db, lanes).await;
        let there: BTreeMap<i16, Uuid> = rows
            .iter()
            .map(|row| (row.try_get_by_index(0).unwrap(), row.try_get_by_index(1).unwrap()))
            .collect();
        assert_eq!(there, *leases, "{}", trace.text());
    }

    fn migrates() -> Script {
        Box::new(|hands| {
            Box::pin(async move {
                while let Err(error) = migrate(&hands.db).await {
                    assert!(hands.has_one_writer(), "{error}");
                    hands.refuse();
                }
            })
        })
    }

    /// Tries to lease, whether or not there is a schema yet.
    fn leases(&self, tries: usize) -> Script {
        let told = self.leased.clone();
        Box::new(move |hands| {
            Box::pin(async move {
                for _ in 0..tries {
                    match hands.store.lease(&request(2)).await {
                        Ok(leases) => leases.into_iter().for_each(|lease| told.tell(lease)),
                        Err(error) if error.kind() == StoreErrorKind::SchemaMissing => {}
                        Err(error) if hands.has_one_writer() => {
                            assert_eq!(error.kind(), StoreErrorKind::Conflict);
                            hands.refuse();
                        }
                        Err(error) => panic!("{error}: {:?}", std::error::Error::source(&error)),
                    }
                }
            })
        })
    }
}

pub(crate) async fn a_migration_beside_a_lease_leaves_both_whole(database: TestDatabase) {
    let mut migrating = Migrating::open(&database, 2).await;
    for before in [Before::Nothing, Before::Tables] {
        let begun = Instant::now();
        let mut orders = Orders::every();
        while orders.another() {
            let scripts = vec![Migrating::migrates(), migrating.leases(1)];
            migrating.play(&mut orders, before, scripts).await;
        }
        orders.report(&format!("migrate ({before:?}) with lease"), &migrating.stage.server, begun);
    }
}

pub(crate) async fn two_migrations_beside_a_lease_leave_all_whole(database: TestDatabase) {
    let mut migrating = Migrating::open(&database, 3).await;
    let begun = Instant::now();
    let mut orders = Orders::seeded(40);
    while orders.another() {
        let all = [Before::Nothing, Before::Tables];
        let before = all[orders.played() % 2];
        let scripts = vec![Migrating::migrates(), migrating.leases(2), Migrating::migrates()];
        migrating.play(&mut orders, before, scripts).await;
    }
    orders.report("two migrations with lease", &migrating.stage.server, begun);
}
