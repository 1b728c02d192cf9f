//! Connections that a pool for workers must not keep.

use std::num::NonZeroU32;
use std::time::Duration;

use outbox_core::{OutboxStore, StoreErrorKind, TableNames};
use outbox_seaorm::{PoolOptions, SeaOrmStore, connect};
use outbox_test_databases::Way;

use crate::database::{TestDatabase, on_mariadb, on_postgres};
use crate::store_errors::chain;
use crate::store_fixture::Outbox;

/// A store over one connection, so that a place that is lost in the pool is missed.
async fn store(url: &str) -> SeaOrmStore {
    let options = PoolOptions {
        max_connections: NonZeroU32::MIN,
        acquire_timeout: Duration::from_secs(20),
        ..PoolOptions::default()
    };
    SeaOrmStore::new(connect(url, options).await.unwrap(), TableNames::default()).unwrap()
}

async fn half_gone(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let way = Way::to(&outbox.database.url).await;
    let store = store(&way.url).await;
    way.freeze();
    let given_up = tokio::time::timeout(Duration::from_millis(50), store.release(&leases)).await;
    assert!(given_up.is_err(), "the connection is not frozen");

    way.thaw();

    store.release(&leases).await.unwrap();
}

#[tokio::test]
async fn a_connection_that_is_half_gone_leaves_its_place_to_another_on_mariadb() {
    on_mariadb(half_gone).await;
}

#[tokio::test]
async fn a_connection_that_is_half_gone_leaves_its_place_to_another_on_postgres() {
    on_postgres(half_gone).await;
}

/// As one with a server that was the primary before a failover.
#[tokio::test]
async fn a_session_that_takes_no_writes_is_left_for_another_on_postgres() {
    on_postgres(|database| async move {
        let outbox = Outbox::new(database);
        let leases = outbox.lease(1).await;
        let name: String = outbox.value("SELECT current_database()::text").await;
        outbox.run(&format!("ALTER DATABASE {name} SET default_transaction_read_only = on")).await;
        let store = store(&outbox.database.url).await;
        let error = store.release(&leases).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::ReadOnly, "{}", chain(&error));

        outbox.run(&format!("ALTER DATABASE {name} RESET default_transaction_read_only")).await;

        store.release(&leases).await.unwrap();
    })
    .await;
}
