//! Calls whose answer is lost: what happened is unknown, and asking again does no harm.

use std::collections::HashSet;
use std::time::Duration;

use outbox_core::{
    DeadReason, EventId, Failure, FailureKind, OutboxStore, OutcomeKind, StoreErrorKind, TableNames,
};
use outbox_seaorm::{EventExt, PoolOptions, SeaOrmStore, Stage, connect};
use outbox_test_databases::{Asked, Way};
use sea_orm::{
    ActiveModelTrait, Database, DatabaseConnection, DbErr, RuntimeErr, TransactionTrait,
};

use crate::database::{TestDatabase, count};
use crate::shop::{OrderPlaced, new_order};
use crate::staged::texts;
use crate::store_errors::chain;
use crate::store_fixture::{HOUR, LEASE, Outbox, lasting, outcome};

/// Runs each promise as a test on both servers.
macro_rules! on_servers {
    ($($promise:ident),+ $(,)?) => {
        mod over_postgres {
            $(#[tokio::test]
            async fn $promise() {
                crate::database::on_postgres(super::$promise).await;
            })+
        }
        mod over_mariadb {
            $(#[tokio::test]
            async fn $promise() {
                crate::database::on_mariadb(super::$promise).await;
            })+
        }
    };
}

on_servers!(
    a_commit_whose_answer_is_lost_may_be_repeated_under_the_same_id,
    a_lease_whose_answer_is_lost_is_nobody_elses,
    a_release_whose_answer_is_lost_may_be_repeated,
    a_renewal_whose_answer_is_lost_may_be_repeated,
    a_settlement_whose_answer_is_lost_may_be_repeated,
);

/// A store whose answers can be lost.
async fn store_over(way: &Way) -> SeaOrmStore {
    let db = connect(&way.url, PoolOptions::default()).await.unwrap();
    SeaOrmStore::new(db, TableNames::default()).unwrap()
}

/// What ends a call that changes something: one statement, or one of several.
fn end(outbox: &Outbox) -> Asked {
    outbox.database.choose(Asked::Commit, Asked::Execution, Asked::Commit)
}

async fn a_settlement_whose_answer_is_lost_may_be_repeated(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let records = outbox.fill(0, 3).await;
    let failure = Failure::new(FailureKind::Transient, "no route");
    let (reason, error) = (DeadReason::Rejected, "too large".to_owned());
    let outcomes = [
        outcome(&leases[0], records[0], OutcomeKind::Published),
        outcome(&leases[0], records[1], OutcomeKind::Failed { failure, delay: Duration::ZERO }),
        outcome(&leases[0], records[2], OutcomeKind::Dead { reason, error, parks_key: false }),
    ];
    let way = Way::to(&outbox.database.url).await;
    let store = store_over(&way).await;
    way.lose_answer_to(end(&outbox));

    let error = store.settle(&outcomes).await.unwrap_err();

    assert!(way.has_lost_it());
    assert_eq!(error.kind(), StoreErrorKind::Unavailable, "{}", chain(&error));
    let happened = async || {
        assert_eq!(outbox.positions("message").await, [2]);
        assert_eq!(outbox.positions("dead_letter").await, [3]);
        assert_eq!(outbox.value::<i32>("SELECT attempts FROM outbox_message").await, 1);
        assert_eq!(outbox.value::<i32>("SELECT attempts FROM outbox_dead_letter").await, 1);
    };
    happened().await;
    let again = store.settle(&outcomes).await.unwrap();
    assert_eq!((again.applied, again.lost), (vec![], vec![]));
    happened().await;
}

/// Nobody knows the token, so the lanes rest until the lease ends; its owner did not die of them.
async fn a_lease_whose_answer_is_lost_is_nobody_elses(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let way = Way::to(&outbox.database.url).await;
    let store = store_over(&way).await;
    way.lose_answer_to(end(&outbox));

    let error = store.lease(&outbox.request(64)).await.unwrap_err();

    assert!(way.has_lost_it());
    assert_eq!(error.kind(), StoreErrorKind::Unavailable, "{}", chain(&error));
    let leased = "SELECT count(*) FROM outbox_lane WHERE token IS NOT NULL";
    assert_eq!(outbox.value::<i64>(leased).await, 64);
    assert_eq!(store.lease(&outbox.request(64)).await.unwrap(), []);
    assert_eq!(outbox.other_worker().lease(64).await, []);
    let ended = outbox.instant(Some(-HOUR));
    outbox.run(&format!("UPDATE outbox_lane SET expires_at = {ended}")).await;
    assert_eq!(store.lease(&outbox.request(64)).await.unwrap().len(), 64);
    let abandoned = "SELECT count(*) FROM outbox_lane WHERE abandoned > 0";
    assert_eq!(outbox.value::<i64>(abandoned).await, 0);
}

async fn a_renewal_whose_answer_is_lost_may_be_repeated(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(2).await;
    let way = Way::to(&outbox.database.url).await;
    let store = store_over(&way).await;
    way.lose_answer_to(end(&outbox));
    let longer = lasting(Duration::from_hours(2));

    let error = store.renew(&leases, longer).await.unwrap_err();

    assert!(way.has_lost_it());
    assert_eq!(error.kind(), StoreErrorKind::Unavailable, "{}", chain(&error));
    let in_an_hour = outbox.instant(Some(HOUR));
    let renewed = format!("SELECT count(*) FROM outbox_lane WHERE expires_at > {in_an_hour}");
    assert_eq!(outbox.value::<i64>(&renewed).await, 2);
    assert_eq!(store.renew(&leases, longer).await.unwrap(), leases);
}

/// Somebody else may have leased the lane since.
async fn a_release_whose_answer_is_lost_may_be_repeated(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let way = Way::to(&outbox.database.url).await;
    let store = store_over(&way).await;
    way.lose_answer_to(Asked::Execution);

    let error = store.release(&leases).await.unwrap_err();

    assert!(way.has_lost_it());
    assert_eq!(error.kind(), StoreErrorKind::Unavailable, "{}", chain(&error));
    let other = outbox.other_worker().lease(1).await;
    assert_eq!(other[0].lane, leases[0].lane);
    store.release(&leases).await.unwrap();
    assert_eq!(store.renew(&other, lasting(LEASE)).await.unwrap(), other);
}

/// Places an order of which the application only knows that its commit may have happened.
async fn place(db: &DatabaseConnection, total: i64, id: EventId) -> Result<(), DbErr> {
    let txn = db.begin().await?;
    new_order(total).insert(&txn).await?;
    txn.stage(OrderPlaced { order_id: 7, total }.with_id(id)).await?;
    txn.commit().await
}

async fn a_commit_whose_answer_is_lost_may_be_repeated_under_the_same_id(database: TestDatabase) {
    let way = Way::to(&database.url).await;
    let db = Database::connect(&way.url).await.unwrap();
    let id = EventId::new();
    way.lose_answer_to(Asked::Commit);

    let error = place(&db, 1, id).await.unwrap_err();

    assert!(way.has_lost_it());
    let lost = |error: &RuntimeErr| {
        matches!(error, RuntimeErr::SqlxError(cause)
        if !matches!(**cause, sea_orm::SqlxError::Database(_)))
    };
    assert!(
        matches!(&error, DbErr::Exec(cause) | DbErr::Conn(cause) | DbErr::Query(cause)
        if lost(cause)),
        "{error:?}"
    );
    let own = format!("outbox_message WHERE id = {}", sql_id(&database, id));
    assert_eq!((count(&database.db, "orders").await, count(&database.db, &own).await), (1, 1));
    // The row is there, so that only the event is staged anew: a duplicate under the same id.
    let txn = db.begin().await.unwrap();
    txn.stage(OrderPlaced { order_id: 7, total: 1 }.with_id(id)).await.unwrap();
    txn.commit().await.unwrap();
    assert_eq!((count(&database.db, "orders").await, count(&database.db, &own).await), (1, 2));
    assert_eq!(texts(&database.db, "lane").await[1..].iter().collect::<HashSet<_>>().len(), 1);
}

fn sql_id(database: &TestDatabase, id: EventId) -> String {
    let hex = id.uuid().simple();
    database.choose(format!("x'{hex}'"), format!("'{hex}'"), format!("x'{hex}'"))
}
