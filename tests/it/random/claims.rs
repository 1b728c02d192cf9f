//! Claims of single records, made, used and named again later.

use std::time::Duration;

use outbox_core::{
    ClaimRefused, ClaimToken, Failure, LeaseTime, RecordClaim, RecordClaims, WorkerId,
};
use uuid::Uuid;

use super::calls::{Call, lease_time};
use super::compare::{Difference, answers, same};
use super::names::Found;
use super::operation::{Named, Operation, Under};
use super::sample;
use super::sights::{Claiming, Sight};
use super::twins::{Twins, latest};

/// A claim, as each side granted it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claimed {
    reference: RecordClaim,
    real: RecordClaim,
}

/// A call about a claim, with the token that it names.
#[derive(Clone, Debug)]
pub(super) enum ClaimCall {
    Complete(Claimed),
    Fail(Claimed, Failure, Duration),
    Renew(Claimed, LeaseTime),
    Try(Found, WorkerId, LeaseTime),
}

impl Twins<'_> {
    pub(super) async fn claim(&mut self, operation: &Operation) -> Result<(), Difference> {
        if self.names.found().is_empty() {
            self.compare_contents().await?;
        }
        match self.claim_call(operation) {
            Some(call) => self.call(Call::Claim(call)).await,
            None => Ok(()),
        }
    }

    /// The call that an operation stands for, if there is what it names.
    fn claim_call(&self, operation: &Operation) -> Option<ClaimCall> {
        Some(match operation {
            Operation::CompleteClaim { claim } => ClaimCall::Complete(self.named(*claim)?),
            Operation::FailClaim { claim, hours, text } => {
                let delay = Duration::from_hours(u64::from(*hours));
                ClaimCall::Fail(self.named(*claim)?, sample::failure(*text), delay)
            }
            Operation::RenewClaim { claim, hours } => {
                ClaimCall::Renew(self.named(*claim)?, lease_time(*hours))
            }
            Operation::TryClaim { record, strange, worker, hours } => {
                let all = self.names.found();
                let mut found = latest(&all, *record)?;
                if *strange {
                    let id = latest(&all, record + 1)?.real.id;
                    (found.reference.id, found.real.id) = (id, id);
                }
                ClaimCall::Try(found, self.workers[usize::from(*worker)], lease_time(*hours))
            }
            _ => unreachable!("the others are not about claims"),
        })
    }

    pub(super) async fn make_claim_call(&mut self, call: &ClaimCall) -> Result<(), Difference> {
        let (store, reference) = (&self.outbox.store, &self.reference);
        let (kind, real, reference) = match call {
            ClaimCall::Complete(claim) => {
                let real = store.complete_claim(&claim.real).await;
                (Claiming::Completed, real, reference.complete_claim(&claim.reference).await)
            }
            ClaimCall::Fail(claim, failure, delay) => {
                let real = store.fail_claim(&claim.real, failure, *delay).await;
                let reference = reference.fail_claim(&claim.reference, failure, *delay).await;
                (Claiming::Failed, real, reference)
            }
            ClaimCall::Renew(claim, lease) => {
                let real = store.renew_claim(&claim.real, *lease).await;
                (Claiming::Renewed, real, reference.renew_claim(&claim.reference, *lease).await)
            }
            ClaimCall::Try(found, owner, lease) => {
                return self.make_try_claim(found, *owner, *lease).await;
            }
        };
        let Some((reference, real)) = answers(reference, real)? else { return Ok(()) };
        let seen = if reference { kind } else { Claiming::Void };
        self.sights.note(Sight::Claim(seen), true);
        same("the claim was good", &reference, &real)
    }

    async fn make_try_claim(
        &mut self,
        found: &Found,
        owner: WorkerId,
        lease: LeaseTime,
    ) -> Result<(), Difference> {
        let stands = self.reference.claims().iter().any(|it| it.record == found.reference);
        let real = self.outbox.store.try_claim(&found.real, owner, lease).await;
        let reference = self.reference.try_claim(&found.reference, owner, lease).await;
        let Some((reference, real)) = answers(reference, real)? else { return Ok(()) };
        let names = |claim: &RecordClaim| (self.names.reference(claim.record), claim.revision);
        let told = reference.as_ref().map(|claim| (claim.record, claim.revision));
        same("claim", &told, &real.as_ref().map(names))?;
        let seen = match &reference {
            Ok(_) if stands => Claiming::TakenOver,
            Ok(_) => Claiming::Granted,
            Err(ClaimRefused::Absent) => Claiming::Absent,
            Err(ClaimRefused::Claimed { .. }) => Claiming::Claimed,
            Err(ClaimRefused::LaneLeased { .. }) => Claiming::LaneLeased,
            Err(ClaimRefused::NotDue) => Claiming::NotDue,
            Err(ClaimRefused::Parked) => Claiming::Parked,
        };
        self.sights.note(Sight::Claim(seen), true);
        let Some((reference, real)) = reference.ok().zip(real.ok()) else { return Ok(()) };
        self.names.grant_claim(reference.token, real.token)?;
        self.claims.push(Claimed { reference, real });
        Ok(())
    }

    /// One of the latest claims, under this token.
    fn named(&self, Named { claim, under }: Named) -> Option<Claimed> {
        let mut claimed = latest(&self.claims, claim)?;
        let record = claimed.real.record;
        let mut of_record = self.claims.iter().rev().filter(|it| it.real.record == record);
        let tokens = match under {
            Under::Earlier => of_record.nth(1).map(|it| (it.reference.token, it.real.token)),
            Under::Foreign => None,
            Under::Latest => return Some(claimed),
        };
        let foreign = ClaimToken::from_uuid(Uuid::from_u128(1)).unwrap();
        (claimed.reference.token, claimed.real.token) = tokens.unwrap_or((foreign, foreign));
        Some(claimed)
    }
}
