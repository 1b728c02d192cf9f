//! Claiming single records.
//!
//! Locks are taken in one order: the lane, then the record, then the claim. A claim that exists, be
//! it live or over, keeps settlements away from its record; so the deletion of the one that is over,
//! which waits for a claimant that is still at it, is what hands the record to the lane's owner.

mod lanes;
#[cfg(feature = "mysql")]
pub(crate) mod mysql;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;

use std::time::Duration;

pub(crate) use lanes::add;
use outbox_core::{
    ClaimRefused, ClaimToken, Failure, LaneLease, LeaseTime, RecordClaim, RecordRef, StoreError,
    TableNames, WorkerId,
};
use sea_orm::{ConnectionTrait, DatabaseConnection, QueryResult, Statement, Value};
use uuid::Uuid;

use super::clock::micros;
use crate::mapping::{failed, unreadable};
use crate::store::brief::{Brief, repeated};

/// The statements about claims of one outbox, which take the same values in every database.
#[derive(Debug)]
pub(crate) struct Claims {
    /// Locks a lane and answers who holds a live lease of it, or null: lane.
    lane: String,
    /// Locks a record and answers its revision and whether it is due: lane, position, id.
    record: String,
    /// Whether a record or its key is parked: lane, position and id, twice.
    parked: String,
    /// Locks a claim and answers who holds it if it is live, or null: lane, position.
    holder: String,
    /// Makes a claim or takes one over: lane, position, id, token, owner, time.
    take: String,
    /// Extends a live claim: time, lane, position, id, token.
    renew: String,
    /// Locks a record as it was when it was claimed: lane, position, id, revision.
    claimed: String,
    /// Deletes a live claim: lane, position, id, token.
    end: String,
    /// Deletes a record that is locked: lane, position.
    complete: String,
    /// Counts a failure of a record that is locked: delay, text, lane, position.
    fail: String,
    /// All claims in some lanes: lane, position, time that is left, topic and ordering key.
    known: String,
    /// Deletes the claims in some lanes that are over.
    clear: String,
    /// Binds some lanes.
    lanes: fn(&[LaneLease]) -> Value,
}

impl Claims {
    pub(crate) async fn try_claim(
        &self,
        db: &DatabaseConnection,
        record: &RecordRef,
        owner: WorkerId,
        lease: LeaseTime,
    ) -> Result<Result<RecordClaim, ClaimRefused>, StoreError> {
        repeated(|| async {
            let txn = Brief::begin(db, "try_claim").await?;
            let revision = match self.claimable(&txn, record).await? {
                Ok(revision) => revision,
                Err(refused) => {
                    txn.rollback().await?;
                    return Ok(Err(refused));
                }
            };
            let token = ClaimToken::new();
            let mut values = named(record).to_vec();
            values.push(token.uuid().into());
            values.extend([owner.uuid().into(), micros(lease.duration()).into()]);
            txn.execute(&self.take, values).await?;
            txn.commit().await?;
            Ok(Ok(RecordClaim { record: *record, token, revision }))
        })
        .await
    }

    /// The record's revision, if nothing stands in the way. Then lane and record are locked, and
    /// with the record whoever would claim it too.
    async fn claimable(
        &self,
        txn: &Brief,
        record: &RecordRef,
    ) -> Result<Result<i32, ClaimRefused>, StoreError> {
        let named = named(record);
        let lanes = txn.rows(&self.lane, named[..1].to_vec()).await?;
        let lane = lanes.first().ok_or_else(|| unreadable("try_claim"))?;
        if let Some(owner) = owner(lane)? {
            return Ok(Err(ClaimRefused::LaneLeased { owner }));
        }
        let records = txn.rows(&self.record, named.clone()).await?;
        if !txn.rows(&self.parked, [named.clone(), named.clone()].concat()).await?.is_empty() {
            return Ok(Err(ClaimRefused::Parked));
        }
        let Some(found) = records.first() else { return Ok(Err(ClaimRefused::Absent)) };
        let due: i64 = found.try_get_by_index(1).map_err(failed("try_claim"))?;
        if due == 0 {
            return Ok(Err(ClaimRefused::NotDue));
        }
        let claims = txn.rows(&self.holder, named[..2].to_vec()).await?;
        if let Some(owner) = claims.first().map(owner).transpose()?.flatten() {
            return Ok(Err(ClaimRefused::Claimed { owner }));
        }
        found.try_get_by_index(0).map(Ok).map_err(failed("try_claim"))
    }

    pub(crate) async fn renew_claim(
        &self,
        db: &DatabaseConnection,
        claim: &RecordClaim,
        lease: LeaseTime,
    ) -> Result<bool, StoreError> {
        let mut values = vec![micros(lease.duration()).into()];
        values.extend(held(claim));
        repeated(|| async {
            Ok(execute(db, "renew_claim", &self.renew, values.clone()).await? > 0)
        })
        .await
    }

    pub(crate) async fn complete_claim(
        &self,
        db: &DatabaseConnection,
        claim: &RecordClaim,
    ) -> Result<bool, StoreError> {
        let [lane, position, _] = named(&claim.record);
        self.settle(db, "complete_claim", claim, &self.complete, &[lane, position]).await
    }

    pub(crate) async fn fail_claim(
        &self,
        db: &DatabaseConnection,
        claim: &RecordClaim,
        failure: &Failure,
        delay: Duration,
    ) -> Result<bool, StoreError> {
        let [lane, position, _] = named(&claim.record);
        let values = [micros(delay).into(), failure.summary().into(), lane, position];
        self.settle(db, "fail_claim", claim, &self.fail, &values).await
    }

    /// Ends a live claim and does this with its record, or nothing at all.
    async fn settle(
        &self,
        db: &DatabaseConnection,
        operation: &'static str,
        claim: &RecordClaim,
        change: &str,
        values: &[Value],
    ) -> Result<bool, StoreError> {
        let mut claimed = named(&claim.record).to_vec();
        claimed.push(claim.revision.into());
        repeated(|| async {
            let txn = Brief::begin(db, operation).await?;
            if txn.rows(&self.claimed, claimed.clone()).await?.is_empty()
                || txn.execute(&self.end, held(claim)).await? == 0
            {
                txn.rollback().await?;
                return Ok(false);
            }
            txn.execute(change, values.to_vec()).await?;
            txn.commit().await?;
            Ok(true)
        })
        .await
    }
}

/// What a settlement asks of each record's place `at`: that there is no claim of the record.
///
/// Whether a claim is live makes no difference, so that no clock decides: the owner of the lane has
/// deleted the claims that were over before it read their records.
pub(super) fn unclaimed(names: &TableNames, quote: char, lane: &str, position: &str) -> String {
    let claim = names.quoted("claim", quote);
    format!(
        "NOT EXISTS (SELECT 1 FROM {claim} AS c WHERE c.lane = {lane} AND c.position = {position})"
    )
}

/// Lane, position and id.
fn named(record: &RecordRef) -> [Value; 3] {
    [i16::from(record.lane.number()).into(), record.position.0.into(), record.id.uuid().into()]
}

/// Lane, position, id and token.
fn held(claim: &RecordClaim) -> [Value; 4] {
    let [lane, position, id] = named(&claim.record);
    [lane, position, id, claim.token.uuid().into()]
}

/// A worker, if the row names one.
fn owner(row: &QueryResult) -> Result<Option<WorkerId>, StoreError> {
    let owner: Option<Uuid> = row.try_get_by_index(0).map_err(failed("try_claim"))?;
    owner.map(WorkerId::from_uuid).transpose()
}

/// How many rows a statement of its own changed, or found as they should be.
async fn execute(
    db: &DatabaseConnection,
    operation: &'static str,
    text: &str,
    values: impl IntoIterator<Item = Value>,
) -> Result<u64, StoreError> {
    let statement = Statement::from_sql_and_values(db.get_database_backend(), text, values);
    let done = db.execute_raw(statement).await.map_err(failed(operation))?;
    Ok(done.rows_affected())
}
