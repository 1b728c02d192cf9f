//! What breaks a naive lane protocol on PostgreSQL, each case as it was once seen.

use std::time::Duration;

use outbox_core::{
    Failure, FailureKind, LaneLease, OutboxStore, Outcome, OutcomeKind, ReadMark, RecordRef,
    TableNames,
};
use outbox_seaorm::{PoolOptions, SeaOrmStore, connect};
use sea_orm::{ConnectionTrait, DatabaseTransaction, TransactionTrait};

use crate::database::{TestDatabase, on_postgres};
use crate::store_fixture::{
    LEASE, Outbox, SECOND, insert, lasting, outcome, published, sample, settle_and_renew_at_once,
};

/// Runs each case on PostgreSQL.
macro_rules! cases {
    ($($case:ident),+ $(,)?) => {
        mod on_postgres {
            $(#[tokio::test]
            async fn $case() {
                super::on_postgres(super::$case).await;
            })+
        }
    };
}

cases!(
    a_lane_whose_lease_expires_while_its_settlement_waits_is_not_settled,
    a_lease_that_ends_while_its_renewal_waits_is_not_renewed,
    a_lower_position_of_a_transaction_that_waits_in_a_trigger_holds_the_horizon,
    a_settlement_outlives_a_renewal_under_it_where_another_isolation_is_the_default,
    a_transaction_that_is_still_open_holds_the_horizon_below_the_stamp,
    an_owner_that_is_superseded_while_it_waits_settles_nothing,
    settlements_and_renewals_of_the_same_lanes_never_deadlock,
    the_positions_of_several_sessions_grow_in_the_order_of_their_commits,
    a_key_that_is_freed_while_a_record_waits_to_be_parked_keeps_it,
);

/// How long a test waits for what must happen.
const PATIENCE: Duration = Duration::from_secs(30);

/// Returns once so many sessions of this database wait for a lock.
pub(crate) async fn blocked(outbox: &Outbox, sessions: i64) {
    let sql = "SELECT count(*) FROM pg_stat_activity
               WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let all = async {
        while outbox.value::<i64>(sql).await < sessions {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, all).await.expect("a session waits for a lock");
}

/// Locks a lane as one who is about to lease it.
pub(crate) async fn lock_lane(outbox: &Outbox, lane: u8) -> DatabaseTransaction {
    let txn = outbox.db.begin().await.unwrap();
    let sql = format!("SELECT 1 FROM outbox_lane WHERE lane = {lane} FOR UPDATE");
    txn.execute_unprepared(&sql).await.unwrap();
    txn
}

async fn a_lane_whose_lease_expires_while_its_settlement_waits_is_not_settled(
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
            blocked(&outbox, 1).await;
            ended(&outbox, expiring).await;
            holder.rollback().await.unwrap();
            let settled = settling.await.unwrap();

            for (lane, records) in records.iter().enumerate() {
                let applied = settled.applied.iter().filter(|it| records.contains(it)).count();
                let untouched = format!("lane = {lane} AND attempts = 0");
                let left = format!("SELECT count(*) FROM outbox_message WHERE {untouched}");
                let expected = if lane == usize::from(expiring) { 0 } else { 6 };
                assert_eq!(applied, expected, "of 6 in lane {lane}");
                let left = usize::try_from(outbox.value::<i64>(&left).await).unwrap();
                assert_eq!(left, 6 - applied);
            }
            outbox.run("DELETE FROM outbox_message").await;
            outbox.run("UPDATE outbox_lane SET token = NULL, expires_at = NULL").await;
        }
    }
}

/// Returns once the lease of a lane has ended.
async fn ended(outbox: &Outbox, lane: u8) {
    let end = format!("SELECT expires_at FROM outbox_lane WHERE lane = {lane}");
    outbox.run(&format!("SELECT pg_sleep_until(({end}) + interval '1 ms')")).await;
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
        blocked(&outbox, 1).await;
        ended(&outbox, expiring).await;
        holder.rollback().await.unwrap();
        let renewed = renewing.await.unwrap().unwrap();

        assert_eq!(renewed, [leases[usize::from(1 - expiring)]], "{locked} {expiring}");
        outbox.run("UPDATE outbox_lane SET token = NULL, expires_at = NULL").await;
    }
}

fn outcomes(leases: &[LaneLease], records: &[Vec<RecordRef>; 2], failing: bool) -> Vec<Outcome> {
    let failure = Failure::new(FailureKind::Transient, "no route");
    let kind = || {
        if failing {
            OutcomeKind::Failed { failure: failure.clone(), delay: Duration::ZERO }
        } else {
            OutcomeKind::Published
        }
    };
    let of_lane = |(lease, records): (&LaneLease, &Vec<RecordRef>)| {
        records.iter().map(|record| outcome(lease, *record, kind())).collect::<Vec<_>>()
    };
    leases.iter().zip(records).flat_map(of_lane).collect()
}

async fn an_owner_that_is_superseded_while_it_waits_settles_nothing(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let records = outbox.fill(0, 3).await;
    let thief = lock_lane(&outbox, 0).await;
    let steal = "UPDATE outbox_lane SET token = gen_random_uuid() WHERE lane = 0";
    thief.execute_unprepared(steal).await.unwrap();

    let (store, outcomes) = (outbox.store.clone(), published(&leases[0], &records));
    let settling = tokio::spawn(async move { store.settle(&outcomes).await.unwrap() });
    blocked(&outbox, 1).await;
    thief.commit().await.unwrap();
    let settled = settling.await.unwrap();

    assert_eq!(settled.applied, []);
    assert_eq!(settled.lost.len(), 1);
    assert_eq!(outbox.count("message").await, 3);
}

async fn settlements_and_renewals_of_the_same_lanes_never_deadlock(database: TestDatabase) {
    let outbox = Outbox::new(database);

    settle_and_renew_at_once(&outbox, 150).await;

    let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    assert_eq!(outbox.value::<i64>(deadlocks).await, 0);
}

async fn a_settlement_outlives_a_renewal_under_it_where_another_isolation_is_the_default(
    database: TestDatabase,
) {
    let outbox = Outbox::new(database);
    let name: String = outbox.value("SELECT current_database()::text").await;
    let default = "default_transaction_isolation = 'repeatable read'";
    outbox.run(&format!("ALTER DATABASE {name} SET {default}")).await;
    let db = connect(&outbox.database.url, PoolOptions::default()).await.unwrap();
    let store = SeaOrmStore::new(db, TableNames::default()).unwrap();
    let leases = outbox.lease(1).await;
    let records = outbox.fill(0, 3).await;
    let renewal = lock_lane(&outbox, 0).await;
    let renew = "UPDATE outbox_lane SET expires_at = expires_at + interval '1 s' WHERE lane = 0";
    renewal.execute_unprepared(renew).await.unwrap();

    let outcomes = published(&leases[0], &records);
    let settling = tokio::spawn(async move { store.settle(&outcomes).await });
    blocked(&outbox, 1).await;
    renewal.commit().await.unwrap();
    let settled = settling.await.unwrap().unwrap();

    assert_eq!(settled.applied.len(), 3);
}

/// The horizon of a read of lane 0 and the positions that it found.
async fn horizon(outbox: &Outbox) -> (u64, Vec<i64>) {
    let batch = outbox.read(&[0]).await;
    let ReadMark::Horizon(horizon) = batch.mark else { panic!("{:?}", batch.mark) };
    (horizon, crate::store_fixture::positions(&batch))
}

async fn a_transaction_that_is_still_open_holds_the_horizon_below_the_stamp(
    database: TestDatabase,
) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let open = outbox.db.begin().await.unwrap();
    let early = insert(&open, &sample(0)).await;
    let late = outbox.insert(sample(0)).await;

    let (_, found) = horizon(&outbox).await;
    let stamp = outbox.settle(&published(&leases[0], &[late])).await.stamp.unwrap();
    let (held, nothing) = horizon(&outbox).await;
    open.commit().await.unwrap();
    let (_, behind) = horizon(&outbox).await;

    assert_eq!(found, [late.position.0]);
    assert!(nothing.is_empty());
    assert!(held < stamp, "a read may not pass the floor by {stamp}: {held}");
    assert_eq!(behind, [early.position.0]);
    // The writers of other tests hold it too, for as long as they are open.
    let passed = async {
        while horizon(&outbox).await.0 < stamp {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, passed).await.expect("the horizon passes the stamp");
}

/// Lets the insert of a record with the key `slow` wait for advisory lock 7.
const WAIT_IN_LINE: &str = "
    CREATE FUNCTION wait_in_line() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NEW; END $$;
    CREATE TRIGGER wait_in_line BEFORE INSERT ON outbox_message FOR EACH ROW
    WHEN (NEW.ordering_key = 'slow') EXECUTE FUNCTION wait_in_line()";

async fn a_lower_position_of_a_transaction_that_waits_in_a_trigger_holds_the_horizon(
    database: TestDatabase,
) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    outbox.run(WAIT_IN_LINE).await;
    // The sequence itself draws a number for the transaction now and then, not right after this.
    outbox.insert(sample(1)).await;
    let gate = outbox.db.begin().await.unwrap();
    gate.execute_unprepared("SELECT pg_advisory_xact_lock(7)").await.unwrap();
    let slow = {
        let db = outbox.db.clone();
        tokio::spawn(async move { insert(&db, &sample(0).key("slow")).await })
    };
    blocked(&outbox, 1).await;
    // Asked of the session and not of a horizon, which transactions of other tests hold as well.
    let numbered: bool = outbox
        .value(
            "SELECT backend_xid IS NOT NULL FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock'",
        )
        .await;
    let late = outbox.insert(sample(0)).await;

    let (_, found) = horizon(&outbox).await;
    let stamp = outbox.settle(&published(&leases[0], &[late])).await.stamp.unwrap();
    let (held, _) = horizon(&outbox).await;
    gate.rollback().await.unwrap();
    let early = slow.await.unwrap();
    let (_, behind) = horizon(&outbox).await;

    assert!(numbered, "a position was drawn before the transaction had a number");
    assert!(early.position < late.position);
    assert_eq!(found, [late.position.0]);
    assert!(held < stamp, "a read may not pass the floor by {stamp}: {held}");
    assert_eq!(behind, [early.position.0]);
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
             VALUES ('orders', 'a', gen_random_uuid(), 0, 0, 0)",
        )
        .await;
    let operator = outbox.db.begin().await.unwrap();
    let free = "DELETE FROM outbox_parked_key";
    operator.execute_unprepared(free).await.unwrap();

    let store = outbox.store.clone();
    let outcomes = [outcome(&leases[0], record, OutcomeKind::Parked)];
    let settling = tokio::spawn(async move { store.settle(&outcomes).await.unwrap() });
    blocked(&outbox, 1).await;
    operator.commit().await.unwrap();
    let settled = settling.await.unwrap();

    assert_eq!(settled.applied, []);
    assert_eq!(outbox.count("message").await, 1);
    assert_eq!(outbox.count("parked").await, 0);
}
