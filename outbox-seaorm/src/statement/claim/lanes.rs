//! What the owner of lanes must know of claims.

use std::time::Duration;

use outbox_core::{ClaimedRecord, KeyRef, Lane, LaneLease, LaneState, Position, StoreError};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr, QueryResult, Statement};

use super::{Claims, execute};
use crate::mapping::{duration, failed};
use crate::store::brief::repeated;

impl Claims {
    /// Deletes the claims in these lanes that are over, and tells all others.
    ///
    /// Whoever deletes a claim that is over takes nothing away, so that needs no lease. While there
    /// is none, nothing is written.
    pub(crate) async fn acquired(
        &self,
        db: &DatabaseConnection,
        leases: &[LaneLease],
    ) -> Result<Vec<(Lane, ClaimedRecord)>, StoreError> {
        let known = self.known(db, leases).await?;
        if known.iter().all(|(_, claim)| claim.ends_in > Duration::ZERO) {
            return Ok(known);
        }
        let lanes = (self.lanes)(leases);
        repeated(|| execute(db, "acquired", &self.clear, [lanes.clone()])).await?;
        // Asked once more, because one that was about to be over may have been renewed meanwhile.
        self.known(db, leases).await
    }

    async fn known(
        &self,
        db: &DatabaseConnection,
        leases: &[LaneLease],
    ) -> Result<Vec<(Lane, ClaimedRecord)>, StoreError> {
        let values = [(self.lanes)(leases)];
        let backend = db.get_database_backend();
        let statement = Statement::from_sql_and_values(backend, &self.known, values);
        let rows = db.query_all_raw(statement).await.map_err(failed("acquired"))?;
        rows.iter().map(claimed).collect()
    }
}

/// Sorts claims into the states of the lanes, which are in the order of the leases.
pub(crate) fn add(
    states: &mut [LaneState],
    leases: &[LaneLease],
    claimed: Vec<(Lane, ClaimedRecord)>,
) {
    for (lane, record) in claimed {
        let mut of_lanes = leases.iter().zip(&mut *states);
        if let Some((_, state)) = of_lanes.find(|(lease, _)| lease.lane == lane) {
            state.claimed.push(record);
        }
    }
}

fn claimed(row: &QueryResult) -> Result<(Lane, ClaimedRecord), StoreError> {
    let read = || {
        let topic: Option<String> = row.try_get_by_index(3)?;
        let key: Option<String> = row.try_get_by_index(4)?;
        let record = ClaimedRecord {
            position: Position(row.try_get_by_index(1)?),
            key: topic.zip(key).map(|(topic, key)| KeyRef { topic: topic.into(), key }),
            ends_in: duration(row.try_get_by_index(2)?),
        };
        Ok((row.try_get_by_index::<i16>(0)?, record))
    };
    let (lane, record) = read().map_err(|error: DbErr| failed("acquired")(error))?;
    Ok((Lane::try_from(lane)?, record))
}
