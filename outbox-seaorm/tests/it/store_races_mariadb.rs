//! What breaks a naive lane protocol on MariaDB, each case as it was once seen.
//!
//! The server's own default is REPEATABLE READ, and the application's sessions have it.

use std::time::Duration;

use outbox_core::{
    Failure, FailureKind, LaneLease, OutboxStore, Outcome, OutcomeKind, Position, RecordRef,
};
use sea_orm::{ConnectionTrait, DatabaseTransaction, TransactionTrait};

use crate::database::{TestDatabase, on_mariadb, rows};
use crate::store_fixture::{
    LEASE, Outbox, SECOND, insert, lasting, outcome, published, sample, settle_and_renew_at_once,
};

/// Runs each case on MariaDB.
macro_rules! cases {
    ($($case:ident),+ $(,)?) => {
        mod on_mariadb {
            $(#[tokio::test]
            async fn $case() {
                super::on_mariadb(super::$case).await;
            })+
        }
    };
}

cases!(
    a_deadlock_with_the_application_is_settled_by_another_try,
    a_key_that_is_freed_while_a_record_waits_to_be_parked_keeps_it,
    a_lane_cannot_be_leased_anew_while_its_settlement_waits_for_a_record,
    a_lane_whose_lease_expires_while_its_settlement_waits_is_settled_whole_or_not_at_all,
    a_lease_that_ends_while_its_renewal_waits_is_not_renewed,
    a_settlement_outlives_a_renewal_under_it,
    a_settlement_that_waits_keeps_no_application_from_staging,
    an_owner_that_is_superseded_while_it_waits_settles_nothing,
    settlements_and_renewals_of_the_same_lanes_never_deadlock,
    the_positions_of_several_sessions_grow_in_the_order_of_their_commits,
);

/// How long a test waits for what must happen.
const PATIENCE: Duration = Duration::from_secs(30);

/// The server's report about this moment. Its tables about locks are renewed only while nobody asks
/// them.
async fn status(outbox: &Outbox) -> String {
    let status = rows(&outbox.db, "SHOW ENGINE INNODB STATUS").await;
    status[0].try_get("", "Status").unwrap()
}

/// How the report names the tables of this database.
async fn own_tables(outbox: &Outbox) -> String {
    let name: String = outbox.value("SELECT DATABASE()").await;
    format!("table `{name}`.")
}

/// Returns once a session of this database waits for a row's lock.
pub(crate) async fn blocked(outbox: &Outbox) {
    let own = own_tables(outbox).await;
    let waits = async {
        loop {
            let status = status(outbox).await;
            let (_, transactions) = status.split_once("\nTRANSACTIONS\n").unwrap_or_default();
            if transactions.lines().any(|line| line.contains(&own) && line.ends_with("waiting")) {
                break;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, waits).await.expect("a session waits for a lock");
}

/// A transaction of the application that holds what this statement locks.
async fn holding(outbox: &Outbox, sql: &str) -> DatabaseTransaction {
    let txn = outbox.db.begin().await.unwrap();
    txn.execute_unprepared(sql).await.unwrap();
    txn
}

async fn lock_lane(outbox: &Outbox, lane: u8) -> DatabaseTransaction {
    holding(outbox, &format!("SELECT 1 FROM outbox_lane WHERE lane = {lane} FOR UPDATE")).await
}

async fn lock_record(outbox: &Outbox, record: RecordRef) -> DatabaseTransaction {
    let (lane, position) = (record.lane, record.position);
    let place = format!("lane = {lane} AND position = {position}");
    holding(outbox, &format!("SELECT 1 FROM outbox_message WHERE {place} FOR UPDATE")).await
}

/// Returns once the lease of a lane has ended.
async fn ended(outbox: &Outbox, lane: u8) {
    let live = format!(
        "SELECT COUNT(*) FROM outbox_lane WHERE lane = {lane} AND expires_at > UTC_TIMESTAMP(6)"
    );
    while outbox.value::<i64>(&live).await > 0 {
        tokio::task::yield_now().await;
    }
}

fn failed() -> OutcomeKind {
    let failure = Failure::new(FailureKind::Transient, "no route");
    OutcomeKind::Failed { failure, delay: Duration::ZERO }
}

async fn a_lane_whose_lease_expires_while_its_settlement_waits_is_settled_whole_or_not_at_all(
    database: TestDatabase,
) {
    let outbox = Outbox::new(database);
    for (locked, expiring, reversed) in [(0, 0, false), (0, 1, false), (1, 0, true)] {
        for failing in [false, true] {
            let leases = outbox.lease(2).await;
            let records = [outbox.fill(0, 6).await, outbox.fill(1, 6).await];
            let mut outcomes = outcomes(&leases, &records, failing);
            if reversed {
                outcomes.reverse();
            }
            outbox.set_lane(expiring, "expires_at", Some(SECOND)).await;
            let holder = lock_lane(&outbox, locked).await;

            let store = outbox.store.clone();
            let settling = tokio::spawn(async move { store.settle(&outcomes).await.unwrap() });
            blocked(&outbox).await;
            ended(&outbox, expiring).await;
            holder.rollback().await.unwrap();
            let settled = settling.await.unwrap();

            for (lane, records) in records.iter().enumerate() {
                let applied = settled.applied.iter().filter(|it| records.contains(it)).count();
                let untouched = format!("lane = {lane} AND attempts = 0");
                let left = format!("SELECT count(*) FROM outbox_message WHERE {untouched}");
                assert!(applied == 0 || applied == 6, "{applied} of 6 in lane {lane}");
                let left = usize::try_from(outbox.value::<i64>(&left).await).unwrap();
                assert_eq!(left, 6 - applied);
            }
            outbox.run("DELETE FROM outbox_message").await;
            outbox.run("UPDATE outbox_lane SET token = NULL, expires_at = NULL").await;
        }
    }
}

/// Whichever lane it waits for, and whichever of them ends meanwhile.
async fn a_lease_that_ends_while_its_renewal_waits_is_not_renewed(database: TestDatabase) {
    let outbox = Outbox::new(database);
    for (locked, expiring) in [(0, 0), (0, 1), (1, 0)] {
        let leases = outbox.lease(2).await;
        outbox.set_lane(expiring, "expires_at", Some(SECOND)).await;
        let holder = lock_lane(&outbox, locked).await;

        let (store, asked) = (outbox.store.clone(), leases.clone());
        let renewing = tokio::spawn(async move { store.renew(&asked, lasting(LEASE)).await });
        blocked(&outbox).await;
        ended(&outbox, expiring).await;
        holder.rollback().await.unwrap();
        let renewed = renewing.await.unwrap().unwrap();

        assert_eq!(renewed, [leases[usize::from(1 - expiring)]], "{locked} {expiring}");
        outbox.run("UPDATE outbox_lane SET token = NULL, expires_at = NULL").await;
    }
}

fn outcomes(leases: &[LaneLease], records: &[Vec<RecordRef>; 2], failing: bool) -> Vec<Outcome> {
    let kind = || if failing { failed() } else { OutcomeKind::Published };
    let of_lane = |(lease, records): (&LaneLease, &Vec<RecordRef>)| {
        records.iter().map(|record| outcome(lease, *record, kind())).collect::<Vec<_>>()
    };
    leases.iter().zip(records).flat_map(of_lane).collect()
}

/// Were the lane read and not locked, it would go to another owner meanwhile, and the old one would
/// then write to its records.
async fn a_lane_cannot_be_leased_anew_while_its_settlement_waits_for_a_record(
    database: TestDatabase,
) {
    let outbox = Outbox::new(database);
    for failing in [false, true] {
        let leases = outbox.lease(1).await;
        let records = outbox.fill(0, 3).await;
        outbox.set_lane(0, "expires_at", Some(SECOND)).await;
        let holder = lock_record(&outbox, records[1]).await;

        let kind = || if failing { failed() } else { OutcomeKind::Published };
        let outcomes: Vec<Outcome> =
            records.iter().map(|record| outcome(&leases[0], *record, kind())).collect();
        let store = outbox.store.clone();
        let settling = tokio::spawn(async move { store.settle(&outcomes).await.unwrap() });
        blocked(&outbox).await;
        ended(&outbox, 0).await;
        let others = outbox.other_worker().lease(64).await;
        holder.rollback().await.unwrap();
        let settled = settling.await.unwrap();

        assert_eq!(others.len(), 63);
        assert!(others.iter().all(|lease| lease.lane.number() != 0));
        assert_eq!(settled.applied.len(), 3);
        outbox.run("DELETE FROM outbox_message").await;
        outbox.run("UPDATE outbox_lane SET token = NULL, expires_at = NULL").await;
    }
}

async fn an_owner_that_is_superseded_while_it_waits_settles_nothing(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let records = outbox.fill(0, 3).await;
    let steal = "UPDATE outbox_lane SET token = X'0123456789ABCDEF0123456789ABCDEF' WHERE lane = 0";
    let thief = holding(&outbox, steal).await;

    let (store, outcomes) = (outbox.store.clone(), published(&leases[0], &records));
    let settling = tokio::spawn(async move { store.settle(&outcomes).await.unwrap() });
    blocked(&outbox).await;
    thief.commit().await.unwrap();
    let settled = settling.await.unwrap();

    assert_eq!(settled.applied, []);
    assert_eq!(settled.lost.len(), 1);
    assert_eq!(outbox.count("message").await, 3);
}

async fn settlements_and_renewals_of_the_same_lanes_never_deadlock(database: TestDatabase) {
    let outbox = Outbox::new(database);

    settle_and_renew_at_once(&outbox, 100).await;

    // A deadlock is repeated and so no error, and the server's counters are not by database.
    let status = status(&outbox).await;
    let deadlock = status.split_once("LATEST DETECTED DEADLOCK").map(|(_, behind)| behind);
    let deadlock = deadlock.and_then(|behind| behind.split("\nTRANSACTIONS\n").next());
    let own = own_tables(&outbox).await;
    assert!(!deadlock.is_some_and(|text| text.contains(&own)), "{}", deadlock.unwrap());
}

async fn a_settlement_outlives_a_renewal_under_it(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let records = outbox.fill(0, 3).await;
    let renew = "UPDATE outbox_lane SET expires_at = expires_at + INTERVAL 1 SECOND WHERE lane = 0";
    let renewal = holding(&outbox, renew).await;

    let (store, outcomes) = (outbox.store.clone(), published(&leases[0], &records));
    let settling = tokio::spawn(async move { store.settle(&outcomes).await });
    blocked(&outbox).await;
    renewal.commit().await.unwrap();
    let settled = settling.await.unwrap().unwrap();

    assert_eq!(settled.applied.len(), 3);
}

/// Under the server's own isolation the place of a record that is gone would be locked, and with it
/// the end of the lane.
async fn a_settlement_that_waits_keeps_no_application_from_staging(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let records = outbox.fill(0, 2).await;
    let gone = RecordRef { position: Position(records[1].position.0 + 1), ..records[1] };
    let holder = lock_record(&outbox, records[1]).await;

    let outcomes = published(&leases[0], &[records[0], gone, records[1]]);
    let store = outbox.store.clone();
    let settling = tokio::spawn(async move { store.settle(&outcomes).await.unwrap() });
    blocked(&outbox).await;
    let staged = tokio::time::timeout(PATIENCE, outbox.insert(sample(0))).await;
    holder.rollback().await.unwrap();
    let settled = settling.await.unwrap();

    assert!(staged.is_ok(), "the insert waits for the settlement");
    assert_eq!(settled.applied.len(), 2);
}

/// The server ends the transaction that has changed less, which is the settlement.
async fn a_deadlock_with_the_application_is_settled_by_another_try(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let records = outbox.fill(0, 2).await;
    let application = outbox.db.begin().await.unwrap();
    for _ in 0..50 {
        insert(&application, &sample(1)).await;
    }
    let touch = |record: RecordRef| {
        let position = record.position;
        format!("UPDATE outbox_message SET tenant = 'a' WHERE lane = 0 AND position = {position}")
    };
    application.execute_unprepared(&touch(records[1])).await.unwrap();

    let (store, outcomes) = (outbox.store.clone(), published(&leases[0], &records));
    let settling = tokio::spawn(async move { store.settle(&outcomes).await });
    blocked(&outbox).await;
    application.execute_unprepared(&touch(records[0])).await.unwrap();
    application.commit().await.unwrap();
    let settled = settling.await.unwrap().unwrap();

    assert_eq!(settled.applied.len(), 2);
}

async fn the_positions_of_several_sessions_grow_in_the_order_of_their_commits(
    database: TestDatabase,
) {
    let outbox = Outbox::new(database);
    let sessions = [outbox.database.pool(1).await, outbox.database.pool(1).await];

    let mut positions = Vec::new();
    for turn in 0..6 {
        positions.push(insert(&sessions[turn % 2], &sample(0)).await.position);
    }

    assert!(positions.is_sorted(), "{positions:?}");
}

async fn a_key_that_is_freed_while_a_record_waits_to_be_parked_keeps_it(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let record = outbox.insert(sample(0).key("a")).await;
    outbox
        .run(
            "INSERT INTO outbox_parked_key
             (topic, ordering_key, dead_id, dead_lane, dead_position, lane)
             VALUES ('orders', 'a', X'0123456789ABCDEF0123456789ABCDEF', 0, 0, 0)",
        )
        .await;
    let operator = holding(&outbox, "DELETE FROM outbox_parked_key").await;

    let store = outbox.store.clone();
    let outcomes = [outcome(&leases[0], record, OutcomeKind::Parked)];
    let settling = tokio::spawn(async move { store.settle(&outcomes).await.unwrap() });
    blocked(&outbox).await;
    operator.commit().await.unwrap();
    let settled = settling.await.unwrap();

    assert_eq!(settled.applied, []);
    assert_eq!(outbox.count("message").await, 1);
    assert_eq!(outbox.count("parked").await, 0);
}
