//! Calls of the store that name leases: made once, and again later with the same tokens.

use std::time::Duration;

use outbox_core::{
    ClaimedRecord, Fleet, Format, Lane, LaneLease, LaneState, LeaseRequest, LeaseTime, LeaseToken,
    OutboxStore, Outcome, OutcomeKind, WorkerCard,
};
use uuid::Uuid;

use super::claims::ClaimCall;
use super::compare::{Difference, answers, same, settled};
use super::names::{Held, Outcomes, Seen};
use super::operation::{End, Latest, Operation, Under};
use super::sample;
use super::sights::{Claiming, Sight};
use super::twins::{Twins, latest};

/// A call with the tokens that it names.
#[derive(Clone, Debug)]
pub(super) enum Call {
    Acquired(Vec<Held>),
    Claim(ClaimCall),
    Release(Vec<Held>),
    Renew(Vec<Held>, LeaseTime),
    Settle(Outcomes),
}

impl Twins<'_> {
    pub(super) async fn lease(&mut self, operation: &Operation) -> Result<(), Difference> {
        let Operation::Lease { worker, lanes, hours, orphans, except } = *operation else {
            return Ok(());
        };
        let request = LeaseRequest {
            owner: self.workers[usize::from(worker)],
            lanes,
            lease: lease_time(hours),
            orphans: orphans.map(|hours| Duration::from_hours(hours.into())),
            except: chosen(except, Lane::all()),
            counts_abandoned: true,
        };
        let real = self.outbox.store.lease(&request).await;
        let reference = self.reference.lease(&request).await;
        let Some((reference, real)) = answers(reference, real)? else { return Ok(()) };
        let lanes = |leases: &[LaneLease]| leases.iter().map(|it| it.lane).collect::<Vec<_>>();
        same("leased lanes", &lanes(&reference), &lanes(&real))?;
        for (reference, real) in reference.into_iter().zip(real) {
            let held = Held { reference, real };
            self.names.grant(held)?;
            self.leases.push(held);
        }
        Ok(())
    }

    pub(super) async fn heartbeat(&mut self, operation: &Operation) -> Result<(), Difference> {
        let Operation::Heartbeat { worker, wants_lanes, topics, lacks } = *operation else {
            return Ok(());
        };
        let names = || (0..8).map(|number| format!("topic \"{number}\""));
        let card = WorkerCard {
            id: self.workers[usize::from(worker)],
            version: "1.0.0".to_owned(),
            max_format: Format::CURRENT,
            topics: chosen(topics, names()),
            lacks: chosen(lacks, names()),
            wants_lanes,
            alive_for: Duration::from_hours(3),
        };
        let real = self.outbox.store.heartbeat(&card).await;
        let both = answers(self.reference.heartbeat(&card).await, real)?;
        let Some((reference, real)) = both else { return Ok(()) };
        same("has a stamp", &reference.stamp.is_some(), &real.stamp.is_some())?;
        self.stamps.extend(reference.stamp.zip(real.stamp));
        same("fleet", &reference, &Fleet { stamp: reference.stamp, ..real })
    }

    pub(super) async fn acquired(&mut self, leases: Latest) -> Result<(), Difference> {
        let mut leases = leases.of(&self.leases);
        leases.sort_by_key(|held| held.real.lane);
        leases.dedup_by_key(|held| held.real.lane);
        self.call(Call::Acquired(leases)).await
    }

    pub(super) async fn release(&mut self, leases: Latest) -> Result<(), Difference> {
        let leases = leases.of(&self.leases);
        self.call(Call::Release(leases)).await
    }

    pub(super) async fn renew(&mut self, leases: Latest, hours: u8) -> Result<(), Difference> {
        let leases = leases.of(&self.leases);
        self.call(Call::Renew(leases, lease_time(hours))).await
    }

    pub(super) async fn settle(&mut self, ends: &[End]) -> Result<(), Difference> {
        let outcomes = self.outcomes(ends);
        if outcomes.real.is_empty() {
            return Ok(());
        }
        self.call(Call::Settle(outcomes)).await
    }

    pub(super) async fn repeat(&mut self, call: u8) -> Result<(), Difference> {
        let count = self.calls.len();
        let Some(at) = usize::from(call).checked_rem(count) else { return Ok(()) };
        let call = self.calls[at].clone();
        self.make(&call).await
    }

    pub(super) async fn call(&mut self, call: Call) -> Result<(), Difference> {
        let made = self.make(&call).await;
        self.calls.push(call);
        made
    }

    async fn make(&mut self, call: &Call) -> Result<(), Difference> {
        match call {
            Call::Acquired(leases) => self.make_acquired(leases).await,
            Call::Claim(call) => self.make_claim_call(call).await,
            Call::Release(leases) => {
                let (ours, theirs) = sides(leases);
                let real = self.outbox.store.release(&theirs).await;
                answers(self.reference.release(&ours).await, real).map(drop)
            }
            Call::Renew(leases, time) => {
                let (ours, theirs) = sides(leases);
                let real = self.outbox.store.renew(&theirs, *time).await;
                let both = answers(self.reference.renew(&ours, *time).await, real)?;
                let Some((reference, real)) = both else { return Ok(()) };
                let real = real.into_iter().map(|lease| self.names.lease(lease)).collect();
                same("renewed", &reference, &real)
            }
            Call::Settle(outcomes) => self.make_settle(outcomes).await,
        }
    }

    async fn make_acquired(&mut self, leases: &[Held]) -> Result<(), Difference> {
        let (ours, theirs) = sides(leases);
        let claims = self.reference.claims().len();
        let real = self.outbox.store.acquired(&theirs).await;
        let both = answers(self.reference.acquired(&ours).await, real)?;
        let Some((reference, mut real)) = both else { return Ok(()) };
        same("states", &reference.len(), &real.len())?;
        for (reference, real) in reference.iter().zip(&mut real) {
            for waiting in &mut real.waiting {
                waiting.head = self.names.position(waiting.head);
                waiting.due_in = self.outbox.time(waiting.due_in);
            }
            for (_, dead) in &mut real.parked {
                *dead = self.names.reference(*dead);
            }
            for claimed in &mut real.claimed {
                claimed.position = self.names.position(claimed.position);
                claimed.ends_in = self.outbox.time(claimed.ends_in);
            }
            same("waiting keys", &reference.waiting, &real.waiting)?;
            same("parked keys", &parked(reference), &parked(real))?;
            same("claimed records", &claimed(reference), &claimed(real))?;
            self.sights.note(Sight::Claim(Claiming::Told), !real.claimed.is_empty());
        }
        let cleared = self.reference.claims().len() < claims;
        self.sights.note(Sight::Claim(Claiming::Cleared), cleared);
        Ok(())
    }

    async fn make_settle(&mut self, outcomes: &Outcomes) -> Result<(), Difference> {
        let claimed = self.reference.claims();
        let real = self.outbox.store.settle(&outcomes.real).await;
        let both = answers(self.reference.settle(&outcomes.reference).await, real)?;
        let Some((reference, mut real)) = both else {
            self.sights.note(Sight::Refused, true);
            return Ok(());
        };
        for record in &mut real.applied {
            *record = self.names.reference(*record);
        }
        for lost in &mut real.lost {
            lost.token = self.names.token(lost.token);
        }
        settled(&reference, &real)?;
        self.stamps.extend(reference.stamp.zip(real.stamp));
        self.sights.note(Sight::Applied, !reference.applied.is_empty());
        self.sights.note(Sight::Lost, !reference.lost.is_empty());
        let lost = |token| reference.lost.iter().any(|lost| lost.token == token);
        let mut held = outcomes.reference.iter().filter(|outcome| !lost(outcome.token));
        let untouched = held.any(|outcome| claimed.iter().any(|it| it.record == outcome.record));
        self.sights.note(Sight::Claim(Claiming::Untouched), untouched);
        Ok(())
    }

    /// The outcomes that an operation stands for, in the order in which a dispatcher has them: by
    /// position, and what is parked behind a dead record after it.
    fn outcomes(&self, ends: &[End]) -> Outcomes {
        let mut chosen: Vec<(Seen, Held, OutcomeKind)> = Vec::new();
        for End { record, under, kind } in ends {
            let Some(seen) = latest(&self.seen, *record) else { continue };
            let held = self.lease_of(&seen, *under);
            let attempt =
                |seen: &Seen, held: &Held| (seen.real.position, seen.revision, held.real.token);
            // Of several outcomes of one attempt only the first would count.
            if chosen.iter().all(|it| attempt(&it.0, &it.1) != attempt(&seen, &held)) {
                chosen.push((seen, held, sample::outcome(*kind)));
            }
        }
        chosen.sort_by_key(|(seen, _, kind)| {
            (matches!(kind, OutcomeKind::Parked), seen.reference.position)
        });
        let mut outcomes = Outcomes::default();
        for (Seen { reference, real, revision, .. }, held, kind) in chosen {
            let token = held.reference.token;
            let ours = Outcome { record: reference, token, revision, kind: kind.clone() };
            outcomes.reference.push(ours);
            outcomes.real.push(Outcome { record: real, token: held.real.token, revision, kind });
        }
        outcomes
    }

    fn lease_of(&self, seen: &Seen, under: Under) -> Held {
        let mut of_lane = self.leases.iter().rev().filter(|held| held.real.lane == seen.real.lane);
        let held = match under {
            Under::Earlier => of_lane.nth(1),
            Under::Foreign => None,
            Under::Latest => of_lane.next(),
        };
        let foreign = || {
            let token = LeaseToken::from_uuid(Uuid::from_u128(1)).unwrap();
            LaneLease { lane: seen.real.lane, token }
        };
        held.copied().unwrap_or_else(|| Held { reference: foreign(), real: foreign() })
    }
}

pub(super) fn lease_time(hours: u8) -> LeaseTime {
    LeaseTime::new(Duration::from_hours(u64::from(hours))).unwrap()
}

/// Those of them whose bit is set.
fn chosen<T>(bits: u8, from: impl Iterator<Item = T>) -> Vec<T> {
    from.take(8).enumerate().filter(|(at, _)| bits >> at & 1 == 1).map(|(_, it)| it).collect()
}

fn sides(leases: &[Held]) -> (Vec<LaneLease>, Vec<LaneLease>) {
    leases.iter().map(|held| (held.reference, held.real)).unzip()
}

/// In no order: a store gives them as it finds them.
fn parked(state: &LaneState) -> Vec<String> {
    let mut parked: Vec<String> = state.parked.iter().map(|it| format!("{it:?}")).collect();
    parked.sort();
    parked
}

/// In no order, as well.
fn claimed(state: &LaneState) -> Vec<ClaimedRecord> {
    let mut claimed = state.claimed.clone();
    claimed.sort_by_key(|record| record.position);
    claimed
}
