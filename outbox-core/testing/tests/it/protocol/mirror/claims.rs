//! Claims of single records in the store and in the model.

use std::collections::BTreeMap;

use outbox_core::{ClaimRefused, LaneLease, LeaseTime, OutboxStore, Position, RecordClaims};
use outbox_testing::protocol::{Action, Claim, ClaimCall, LEASE, RETRY, Refusal, State, step};

use super::{Difference, Mirror, TICK, failure, key, same};

impl Mirror {
    pub(super) async fn claim(
        &mut self,
        position: Position,
        before: &State,
        after: &State,
    ) -> Result<(), Difference> {
        let claimed = self.try_claim(position).await.map_err(|it| format!("claim: {it}"))?;
        let new = after.claimants.keys().find(|claim| !before.claimants.contains_key(claim));
        let new = new.unwrap();
        self.claim_tokens.insert(new.token, claimed.token);
        same("claimed", &self.record_claim(new), &claimed)
    }

    /// What the model refuses to claim, the store refuses for the same reason.
    pub(in crate::protocol) async fn refuse(
        &self,
        state: &State,
        position: Position,
    ) -> Result<(), Difference> {
        let lane = self.records[&position].lane.number();
        let Err(refusal) = step(state, Action::Claim { lane, position }) else { return Ok(()) };
        let refused = self.try_claim(position).await.map_err(|refused| match refused {
            ClaimRefused::Absent => Refusal::Nothing,
            ClaimRefused::Claimed { .. } => Refusal::Claimed,
            ClaimRefused::LaneLeased { .. } => Refusal::LaneLeased,
            ClaimRefused::NotDue => Refusal::NotDue,
            ClaimRefused::Parked => Refusal::Parked,
        });
        same("refusal", &Err(refusal), &refused.map(|_| ()))
    }

    pub(super) async fn call_claim(
        &self,
        claim: &Claim,
        call: ClaimCall,
        before: &State,
    ) -> Result<(), Difference> {
        let told = self.record_claim(claim);
        let done = match call {
            ClaimCall::Complete => self.store.complete_claim(&told).await,
            ClaimCall::Fail => {
                self.store.fail_claim(&told, &failure(), TICK * u32::from(RETRY)).await
            }
            ClaimCall::Renew => self.store.renew_claim(&told, claim_time()).await,
            // It touches no table.
            ClaimCall::Send => return Ok(()),
        };
        let row = before.tables.claims.get(&claim.position);
        let live = row.is_some_and(|row| row.token == claim.token && row.is_live(before.now));
        same("done under a claim", &live, &done.unwrap())
    }

    /// What the owner of these lanes is told.
    pub(super) async fn told(&self, leases: &[LaneLease], after: &State) -> Result<(), Difference> {
        let states = self.store.acquired(leases).await.unwrap();
        for (lease, told) in leases.iter().zip(states) {
            let lane = lease.lane.number();
            let waiting: Vec<Position> = after.tables.waiting(lane).map(|(_, at)| at).collect();
            same("waiting", &waiting, &told.waiting.iter().map(|it| it.head).collect())?;
            let parked: Vec<String> =
                after.tables.parked_in(lane).map(|it| key(lane, it)).collect();
            let mut keys: Vec<String> = told.parked.into_iter().map(|(it, _)| it.key).collect();
            keys.sort_by_key(|told| parked.iter().position(|it| it == told));
            same("parked keys of a lane", &parked, &keys)?;
            let left = |at| TICK * u32::from(after.tables.claims[&at].expires_at - after.now);
            let claimed = after.tables.claimed_in(lane).map(|at| (at, left(at)));
            let told = told.claimed.iter().map(|claimed| (claimed.position, claimed.ends_in));
            same("claims of a lane", &claimed.collect::<BTreeMap<_, _>>(), &told.collect())?;
        }
        Ok(())
    }

    async fn try_claim(
        &self,
        position: Position,
    ) -> Result<outbox_core::RecordClaim, ClaimRefused> {
        let record = &self.records[&position];
        self.store.try_claim(record, self.claimant, claim_time()).await.unwrap()
    }

    fn record_claim(&self, claim: &Claim) -> outbox_core::RecordClaim {
        outbox_core::RecordClaim {
            record: self.records[&claim.position],
            token: self.claim_tokens[&claim.token],
            revision: claim.revision.into(),
        }
    }
}

fn claim_time() -> LeaseTime {
    LeaseTime::new(TICK * u32::from(LEASE)).unwrap()
}
