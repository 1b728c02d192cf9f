//! What an onlooker sees of single records under claims of their own.

use outbox_core::Position;
use outbox_testing::protocol::{Action, Claim, ClaimCall, State};

use super::history::{History, Opening, Promise, same_records};

impl History {
    pub(super) fn follow_claims(&mut self, before: &State, action: &Action, after: &State) {
        match action {
            Action::Claim { lane, position } => {
                let leased = before.tables.lanes[usize::from(*lane)].live(before.now).is_some();
                if leased || is_claimed(before, *position) {
                    self.broken.insert(Promise::ClaimExcludesOthers);
                }
            }
            Action::Claimed(claim, call) => self.follow_call(before, claim, *call, after),
            Action::Late(_) | Action::Settle { .. } => self.check_settled(before, after),
            // A send that began before, by an owner that gave the lane back, is the window of a drain.
            Action::Send { position, .. } if is_claimed(before, *position) => {
                self.broken.insert(Promise::ClaimedRecordIsNotSent);
            }
            Action::Tick => self.follow_ends(before, after),
            _ => {}
        }
    }

    fn follow_call(&mut self, before: &State, claim: &Claim, call: ClaimCall, after: &State) {
        let live = is_live(before, claim);
        let same = same_records(before, after) && before.tables.claims == after.tables.claims;
        if !live && !same {
            self.broken.insert(Promise::StaleClaimChangesNothing);
        }
        match call {
            ClaimCall::Fail if live => {
                if before.claimants[claim].sent {
                    self.open(claim.position, Opening::AnswerLost);
                }
                self.fate(claim.position).failures += 1;
            }
            // A claim gives no order.
            ClaimCall::Send => self.delivered(claim.position),
            ClaimCall::Complete | ClaimCall::Fail | ClaimCall::Renew => {}
        }
    }

    fn check_settled(&mut self, before: &State, after: &State) {
        let changed = |at: &Position| before.tables.rows.get(at) != after.tables.rows.get(at);
        if before.tables.claims.keys().any(|at| is_claimed(before, *at) && changed(at)) {
            self.broken.insert(Promise::ClaimedRecordIsNotSettled);
        }
    }

    /// A claim that runs out after the send repeats the record, as a lease does.
    fn follow_ends(&mut self, before: &State, after: &State) {
        for (claim, claimant) in &before.claimants {
            if claimant.sent && is_live(before, claim) && !is_live(after, claim) {
                self.open(claim.position, Opening::Lease);
            }
        }
    }
}

fn is_live(state: &State, claim: &Claim) -> bool {
    let row = state.tables.claims.get(&claim.position);
    row.is_some_and(|row| row.token == claim.token && row.expires_at > state.now)
}

fn is_claimed(state: &State, position: Position) -> bool {
    state.tables.claims.get(&position).is_some_and(|row| row.expires_at > state.now)
}
