//! The lane store on a test's database.

use std::sync::Arc;

use outbox_core::{Clock, TableNames};
use outbox_seaorm::{PoolOptions, SeaOrmStore};
use outbox_test_databases::TestDatabase;

/// A store with a pool of its own. The outbox must have been migrated.
pub async fn lane_store(database: &TestDatabase) -> Arc<SeaOrmStore> {
    let pool = outbox_seaorm::connect(&database.url, PoolOptions::default()).await;
    let store = SeaOrmStore::new(pool.expect("a database that answers"), TableNames::default());
    Arc::new(store.expect("a database that the store knows"))
}

/// The same store by a clock of the test's own.
pub async fn lane_store_by(clock: Arc<dyn Clock>, database: &TestDatabase) -> Arc<SeaOrmStore> {
    let pool = outbox_seaorm::connect(&database.url, PoolOptions::default()).await;
    let pool = pool.expect("a database that answers");
    let store = SeaOrmStore::with_clock(pool, TableNames::default(), clock);
    Arc::new(store.expect("a database that the store knows"))
}
