//! What a user must be allowed on MariaDB, and what the check says to one that is not.

use outbox_core::{StoreErrorKind, TableNames};
use outbox_seaorm::{PoolOptions, SeaOrmStore, connect};

use crate::database::{ROLE_PASSWORD, TestDatabase, on_mariadb};
use crate::store_fixture::Outbox;
use crate::store_privileges::{grants, work};

/// A user of the server and nothing else, and the store that it has.
struct Guest {
    outbox: Outbox,
    name: String,
    store: SeaOrmStore,
}

impl Guest {
    async fn new(database: TestDatabase) -> Self {
        let outbox = Outbox::new(database);
        // Names of users are short.
        let name = format!("guest_{}", &outbox.worker.uuid().simple().to_string()[8..]);
        outbox.run(&format!("CREATE USER {name} IDENTIFIED BY '{ROLE_PASSWORD}'")).await;
        // Without any privilege there the database cannot even be connected to.
        outbox.run(&format!("GRANT SELECT ON outbox_meta TO {name}")).await;
        let (_, place) = outbox.database.url.split_once('@').unwrap();
        let url = format!("mysql://{name}:{ROLE_PASSWORD}@{place}");
        let db = connect(&url, PoolOptions::default()).await.unwrap();
        let store = SeaOrmStore::new(db, TableNames::default()).unwrap();
        Self { outbox, name, store }
    }

    async fn grant(&self, what: &str) {
        self.outbox.run(&format!("GRANT {what} TO {}", self.name)).await;
    }

    async fn revoke(&self, what: &str) {
        self.outbox.run(&format!("REVOKE {what} FROM {}", self.name)).await;
    }

    /// Every call of the store, on an outbox as it was at first.
    ///
    /// One worker is silent for long, because only then one is forgotten.
    async fn work(&self) -> Result<(), StoreErrorKind> {
        for table in ["claim", "dead_letter", "message", "parked", "parked_key", "worker"] {
            self.outbox.run(&format!("DELETE FROM outbox_{table}")).await;
        }
        self.outbox.run("UPDATE outbox_lane SET token = NULL, expires_at = NULL").await;
        self.outbox
            .run(
                "INSERT INTO outbox_worker (id, version, max_format, topics, seen_at)
                 VALUES (X'0123456789ABCDEF0123456789ABCDEF', '0', 1, '[]', '2026-01-01')",
            )
            .await;
        work(&self.outbox, &self.store).await.map_err(|error| error.kind())
    }

    /// Before anything is asserted: a user outlives the database of the test.
    async fn leave(self) {
        self.outbox.run(&format!("DROP USER {}", self.name)).await;
    }
}

#[tokio::test]
async fn each_grant_is_needed_and_named_alone_when_it_is_missing_on_mariadb() {
    on_mariadb(|database| async move {
        let guest = Guest::new(database).await;
        let all = grants(&guest.store.check().await.unwrap_err());
        for grant in &all {
            guest.grant(grant).await;
        }
        let passed = guest.store.check().await;
        let worked = guest.work().await;
        let mut without = Vec::new();
        for grant in &all {
            let (privileges, table) = grant.split_once(" ON ").unwrap();
            for privilege in privileges.split(", ") {
                let one = format!("{privilege} ON {table}");
                guest.revoke(&one).await;
                let named = guest.store.check().await.map_err(|error| grants(&error));
                let worked = guest.work().await;
                guest.grant(&one).await;
                without.push((one, named, worked));
            }
        }

        guest.leave().await;
        passed.unwrap();
        worked.unwrap();
        assert_eq!(without.len(), 18);
        for (grant, named, worked) in without {
            assert_eq!(worked, Err(StoreErrorKind::PermissionDenied), "{grant}");
            assert_eq!(named, Err(vec![grant]));
        }
    })
    .await;
}

#[tokio::test]
async fn a_user_that_may_only_read_passes_the_check_of_the_tables_on_mariadb() {
    on_mariadb(|database| async move {
        let guest = Guest::new(database).await;
        let refused = guest.store.check_tables().await.unwrap_err();
        for grant in grants(&refused) {
            guest.grant(&grant).await;
        }

        let passed = guest.store.check_tables().await;
        let worker = guest.store.check().await.map_err(|error| error.kind());

        guest.leave().await;
        assert!(grants(&refused).contains(&"SELECT ON `outbox_lane`".to_owned()));
        passed.unwrap();
        assert_eq!(worker, Err(StoreErrorKind::PermissionDenied));
    })
    .await;
}
