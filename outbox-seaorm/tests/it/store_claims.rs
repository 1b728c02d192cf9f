//! Claims of single records, beyond what the suite of stores sees.

use std::time::Duration;

use outbox_core::{
    ClaimRefused, ClaimedRecord, LaneLease, OutboxStore, OutcomeKind, RecordClaim, RecordClaims,
    RecordRef,
};
use sea_orm::{ConnectionTrait, DatabaseTransaction, TransactionTrait};

use crate::database::{TestDatabase, on_mariadb, on_postgres};
use crate::on_all;
use crate::store_fixture::{HOUR, LEASE, Outbox, SECOND, lasting, outcome, published};
use crate::{store_races, store_races_mariadb};

on_all!(store_claims:
    a_claim_is_over_at_the_instant_of_its_end,
    a_claim_that_is_over_is_deleted_with_the_lanes_of_its_owner_alone,
    a_claim_that_no_owner_was_told_of_keeps_its_record,
    a_completed_or_failed_claim_leaves_no_row,
    a_refused_claim_leaves_no_row,
    a_refused_claim_leaves_the_lane_as_it_was,
);

/// Runs each case where sessions wait for each other's locks.
macro_rules! races {
    ($($case:ident),+ $(,)?) => {
        mod races_on_postgres {
            $(#[tokio::test]
            async fn $case() {
                super::on_postgres(super::$case).await;
            })+
        }
        mod races_on_mariadb {
            $(#[tokio::test]
            async fn $case() {
                super::on_mariadb(super::$case).await;
            })+
        }
    };
}

races!(
    a_claim_that_is_renewed_while_the_owner_asks_is_told,
    a_claim_waits_for_who_is_leasing_the_lane,
    a_lane_in_which_a_record_is_being_claimed_is_not_leased,
    a_record_that_goes_while_its_claim_waits_is_not_claimed,
    an_owner_waits_for_a_claimant_that_is_still_at_it,
    claims_and_their_ends_never_deadlock,
);

async fn claim(outbox: &Outbox, record: RecordRef) -> RecordClaim {
    try_claim(outbox, record).await.unwrap()
}

async fn try_claim(outbox: &Outbox, record: RecordRef) -> Result<RecordClaim, ClaimRefused> {
    outbox.store.try_claim(&record, outbox.worker, lasting(LEASE)).await.unwrap()
}

async fn told(outbox: &Outbox, leases: &[LaneLease]) -> Vec<ClaimedRecord> {
    let states = outbox.store.acquired(leases).await.unwrap();
    states.into_iter().flat_map(|state| state.claimed).collect()
}

/// Lets all claims end so far from now.
async fn end_claims(outbox: &Outbox, offset: i64) {
    let instant = outbox.instant(Some(offset));
    outbox.run(&format!("UPDATE outbox_claim SET expires_at = {instant}")).await;
}

async fn a_claim_is_over_at_the_instant_of_its_end(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let [record] = outbox.fill(0, 1).await[..] else { panic!("one record") };
    let old = claim(&outbox, record).await;
    end_claims(&outbox, 0).await;

    let renewed = outbox.store.renew_claim(&old, lasting(LEASE)).await.unwrap();
    let completed = outbox.store.complete_claim(&old).await.unwrap();

    assert!(!renewed && !completed);
    assert_ne!(claim(&outbox, record).await.token, old.token);
}

async fn a_refused_claim_leaves_no_row(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let leases = outbox.lease(1).await;
    let own = outbox.fill(0, 1).await;
    let free = outbox.fill(1, 1).await;
    let never = RecordRef { position: outbox_core::Position(1 << 40), ..free[0] };

    let refusals = [try_claim(&outbox, own[0]).await, try_claim(&outbox, never).await];

    assert_eq!(refusals[0], Err(ClaimRefused::LaneLeased { owner: outbox.worker }));
    assert_eq!(refusals[1], Err(ClaimRefused::Absent));
    assert_eq!(outbox.count("claim").await, 0);
    assert_eq!(outbox.settle(&published(&leases[0], &own)).await.applied, own);
}

async fn a_refused_claim_leaves_the_lane_as_it_was(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let [record] = outbox.fill(0, 1).await[..] else { panic!("one record") };
    claim(&outbox, record).await;

    let refused = try_claim(&outbox, record).await;

    assert_eq!(refused, Err(ClaimRefused::Claimed { owner: outbox.worker }));
    let never_leased = "lane = 0 AND token IS NULL AND owner IS NULL AND expires_at IS NULL";
    let sql = format!("SELECT count(*) FROM outbox_lane WHERE {never_leased}");
    assert_eq!(outbox.value::<i64>(&sql).await, 1);
    assert_eq!(outbox.count("claim").await, 1);
}

async fn a_completed_or_failed_claim_leaves_no_row(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let records = outbox.fill(0, 2).await;
    let (first, second) = (claim(&outbox, records[0]).await, claim(&outbox, records[1]).await);
    let failure = outbox_core::Failure::new(outbox_core::FailureKind::Transient, "no route");

    outbox.store.complete_claim(&first).await.unwrap();
    outbox.store.fail_claim(&second, &failure, Duration::ZERO).await.unwrap();

    assert_eq!(outbox.count("claim").await, 0);
    assert_eq!(outbox.positions("message").await, [records[1].position.0]);
}

async fn a_claim_that_is_over_is_deleted_with_the_lanes_of_its_owner_alone(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let records = [outbox.fill(0, 1).await, outbox.fill(1, 1).await].concat();
    for record in &records {
        outbox.insert_claim(*record, -SECOND).await;
    }
    let leases = outbox.lease(2).await;

    let told = told(&outbox, &leases[..1]).await;

    assert_eq!(told, []);
    assert_eq!(outbox.positions("claim").await, [records[1].position.0]);
}

/// Its claimant may still be at it: an expiry alone, judged by two clocks, is no fence.
async fn a_claim_that_no_owner_was_told_of_keeps_its_record(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let records = outbox.fill(0, 2).await;
    outbox.insert_claim(records[0], -HOUR).await;
    let leases = outbox.lease(1).await;

    let before = outbox.settle(&published(&leases[0], &records)).await;
    told(&outbox, &leases).await;
    let after = outbox.settle(&published(&leases[0], &records)).await;

    assert_eq!((before.applied, before.lost), (vec![records[1]], vec![]));
    assert_eq!(after.applied, [records[0]]);
}

/// Returns once a session of this database waits for a lock.
async fn blocked(outbox: &Outbox) {
    if outbox.is_postgres() {
        store_races::blocked(outbox, 1).await;
    } else {
        store_races_mariadb::blocked(outbox).await;
    }
}

/// A claimant in the middle of its transaction.
async fn claimant(outbox: &Outbox, statements: &[&str]) -> DatabaseTransaction {
    let txn = outbox.db.begin().await.unwrap();
    for sql in statements {
        txn.execute_unprepared(sql).await.unwrap();
    }
    txn
}

async fn a_lane_in_which_a_record_is_being_claimed_is_not_leased(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let lock = if outbox.is_postgres() { "FOR SHARE" } else { "LOCK IN SHARE MODE" };
    let sql = format!("SELECT 1 FROM outbox_lane WHERE lane = 3 {lock}");
    let claiming = claimant(&outbox, &[&sql]).await;

    let leases = outbox.lease(64).await;

    claiming.rollback().await.unwrap();
    assert_eq!(leases.len(), 63);
    assert!(leases.iter().all(|lease| lease.lane.number() != 3));
}

async fn a_claim_waits_for_who_is_leasing_the_lane(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let [record] = outbox.fill(0, 1).await[..] else { panic!("one record") };
    let leasing = store_races::lock_lane(&outbox, 0).await;

    let other = outbox.other_worker();
    let claiming = tokio::spawn(async move { try_claim(&other, record).await });
    blocked(&outbox).await;
    let uuid = outbox.worker.uuid().simple();
    let uuid = if outbox.is_postgres() { format!("'{uuid}'") } else { format!("x'{uuid}'") };
    let end = outbox.instant(Some(HOUR));
    let values = format!("token = {uuid}, owner = {uuid}, expires_at = {end}");
    let lease = format!("UPDATE outbox_lane SET {values} WHERE lane = 0");
    leasing.execute_unprepared(&lease).await.unwrap();
    leasing.commit().await.unwrap();

    let claimed = claiming.await.unwrap();
    assert_eq!(claimed, Err(ClaimRefused::LaneLeased { owner: outbox.worker }));
    assert_eq!(outbox.count("claim").await, 0);
}

async fn a_record_that_goes_while_its_claim_waits_is_not_claimed(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let [record] = outbox.fill(0, 1).await[..] else { panic!("one record") };
    let settling = claimant(&outbox, &["DELETE FROM outbox_message WHERE lane = 0"]).await;

    let other = outbox.other_worker();
    let claiming = tokio::spawn(async move { try_claim(&other, record).await });
    blocked(&outbox).await;
    settling.commit().await.unwrap();

    assert_eq!(claiming.await.unwrap(), Err(ClaimRefused::Absent));
    assert_eq!(outbox.count("claim").await, 0);
}

async fn an_owner_waits_for_a_claimant_that_is_still_at_it(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let records = outbox.fill(0, 2).await;
    outbox.insert_claim(records[0], -SECOND).await;
    let leases = outbox.lease(1).await;
    let first = format!("position = {}", records[0].position);
    let end = format!("DELETE FROM outbox_claim WHERE {first}");
    let complete = format!("DELETE FROM outbox_message WHERE {first}");
    let completing = claimant(&outbox, &[&end, &complete]).await;

    let (other, of_lane) = (outbox.other_worker(), leases.clone());
    let asking = tokio::spawn(async move { told(&other, &of_lane).await });
    blocked(&outbox).await;
    // MariaDB lets a settlement of the record wait too.
    let (other, outcomes) = (outbox.other_worker(), published(&leases[0], &records[..1]));
    let settling = tokio::spawn(async move { other.settle(&outcomes).await });
    completing.commit().await.unwrap();

    assert_eq!(asking.await.unwrap(), []);
    let settled = settling.await.unwrap();
    assert_eq!((settled.applied, settled.lost), (vec![], vec![]));
    assert_eq!(outbox.read_one(0).await.reference, records[1]);
}

async fn a_claim_that_is_renewed_while_the_owner_asks_is_told(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let [record] = outbox.fill(0, 1).await[..] else { panic!("one record") };
    outbox.insert_claim(record, -SECOND).await;
    let leases = outbox.lease(1).await;
    let end = outbox.instant(Some(HOUR));
    let renewing =
        claimant(&outbox, &[&format!("UPDATE outbox_claim SET expires_at = {end}")]).await;

    let (other, of_lane) = (outbox.other_worker(), leases.clone());
    let asking = tokio::spawn(async move { told(&other, &of_lane).await });
    blocked(&outbox).await;
    renewing.commit().await.unwrap();

    let told = asking.await.unwrap();
    assert_eq!(told.len(), 1);
    assert!(told[0].ends_in > Duration::from_mins(50), "{told:?}");
    let settled = outbox.settle(&[outcome(&leases[0], record, OutcomeKind::Published)]).await;
    assert_eq!(settled.applied, []);
}

/// Several at once claim, renew, fail and complete the same records, while an owner comes and goes.
async fn claims_and_their_ends_never_deadlock(database: TestDatabase) {
    let outbox = Outbox::new(database);
    let records = outbox.fill(0, 4).await;
    let failure = outbox_core::Failure::new(outbox_core::FailureKind::Transient, "no route");
    let claimants = (0..3).map(|nth: usize| {
        let (one, mut records) = (outbox.other_worker(), records.clone());
        let failure = failure.clone();
        records.rotate_left(nth);
        tokio::spawn(async move {
            for _ in 0..15 {
                for record in &records {
                    let Ok(claim) = try_claim(&one, *record).await else { continue };
                    one.store.renew_claim(&claim, lasting(LEASE)).await.unwrap();
                    assert!(one.store.fail_claim(&claim, &failure, Duration::ZERO).await.unwrap());
                }
            }
        })
    });
    let owner = outbox.other_worker();
    let owning = tokio::spawn(async move {
        for _ in 0..15 {
            let leases = owner.lease(1).await;
            told(&owner, &leases).await;
            owner.store.release(&leases).await.unwrap();
        }
    });

    for ended in futures_util::future::join_all(claimants.chain([owning])).await {
        ended.unwrap();
    }

    assert_eq!(outbox.count("claim").await, 0);
    assert_eq!(outbox.count("message").await, 4);
}
