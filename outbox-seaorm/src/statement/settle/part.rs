//! Outcomes that are written in one transaction.

use outbox_core::{Lane, LaneLease, Outcome, OutcomeKind};

use super::kind::{Ending, note, reason};

/// Most bytes that one statement binds.
///
/// Beyond 16 KB the values fill more than one TLS record, and the driver then waits some forty
/// milliseconds for an acknowledgement that the server delays. The rest is for the message around.
const BYTES: usize = 15_000;
/// What an outcome binds at least: five numbers and a UUID, each with its length.
const OUTCOME: usize = 46;
/// What an outcome binds beyond that in the statement for all kinds, without its texts.
const DETAIL: usize = 26;
/// What a lease binds.
const LEASE: usize = 26;

/// Outcomes in the order of their lanes. A lane's outcomes stand in one part, whatever its size.
#[derive(Debug)]
pub(super) struct Part<'o> {
    leases: Vec<LaneLease>,
    outcomes: Vec<&'o Outcome>,
    /// Of each outcome, the index of its lease.
    of_lease: Vec<usize>,
}

impl<'o> Part<'o> {
    /// Divides outcomes into parts. Of several for one attempt the first counts.
    pub(super) fn divide(outcomes: &'o [Outcome]) -> Vec<Self> {
        let mut sorted: Vec<&Outcome> = outcomes.iter().collect();
        sorted.sort_by_key(|outcome| attempt(outcome));
        sorted.dedup_by_key(|outcome| attempt(outcome));

        let detail = if sorted.iter().all(|outcome| is_published(outcome)) { 0 } else { DETAIL };
        let weight = |outcome: &&Outcome| OUTCOME + detail + texts(&outcome.kind);
        let mut parts = Vec::new();
        let mut part = Vec::new();
        let mut bytes = 0;
        for lane in sorted.chunk_by(|a, b| a.record.lane == b.record.lane) {
            let more = lane.iter().map(weight).sum::<usize>() + LEASE;
            if bytes + more > BYTES && !part.is_empty() {
                parts.push(Self::of(std::mem::take(&mut part)));
                bytes = 0;
            }
            part.extend_from_slice(lane);
            bytes += more;
        }
        if !part.is_empty() {
            parts.push(Self::of(part));
        }
        parts
    }

    /// Two halves, between lanes if there are several; the outcome itself if there is but one.
    pub(super) fn halves(self) -> Result<(Self, Self), &'o Outcome> {
        let outcomes = self.outcomes;
        let lanes: Vec<&[&Outcome]> =
            outcomes.chunk_by(|a, b| a.record.lane == b.record.lane).collect();
        match (lanes.as_slice(), outcomes.as_slice()) {
            ([_, _, ..], _) => {
                let (first, second) = lanes.split_at(lanes.len() / 2);
                Ok((Self::of(first.concat()), Self::of(second.concat())))
            }
            (_, [outcome]) => Err(outcome),
            (_, outcomes) => {
                let (first, second) = outcomes.split_at(outcomes.len() / 2);
                Ok((Self::of(first.to_vec()), Self::of(second.to_vec())))
            }
        }
    }

    pub(super) fn leases(&self) -> &[LaneLease] {
        &self.leases
    }

    pub(super) fn outcomes(&self) -> &[&'o Outcome] {
        &self.outcomes
    }

    /// Of each outcome, the index of its lease.
    pub(super) fn of_lease(&self) -> &[usize] {
        &self.of_lease
    }

    /// Those of these leases under which an attempt is among the outcomes that were applied. Parking
    /// is no attempt.
    #[cfg(any(feature = "mysql", feature = "sqlite"))]
    pub(super) fn attempted(&self, leases: &[usize], applied: &[usize]) -> Vec<LaneLease> {
        let outcomes = self.outcomes.iter().zip(&self.of_lease).enumerate();
        let attempted: Vec<usize> = outcomes
            .filter(|(at, (outcome, _))| {
                applied.contains(at) && Ending::of(&outcome.kind) != Ending::Parked
            })
            .map(|(_, (_, lease))| *lease)
            .collect();
        let leases = leases.iter().filter(|lease| attempted.contains(lease));
        leases.filter_map(|lease| self.leases.get(*lease)).copied().collect()
    }

    /// Whether all outcomes are the common one, for which a shorter statement will do.
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    pub(super) fn is_published(&self) -> bool {
        self.outcomes.iter().all(|outcome| is_published(outcome))
    }

    fn of(outcomes: Vec<&'o Outcome>) -> Self {
        let mut part = Self { leases: Vec::new(), of_lease: Vec::new(), outcomes };
        for outcome in &part.outcomes {
            let lease = LaneLease { lane: outcome.record.lane, token: outcome.token };
            // Sorted by lane and token, so equal leases are neighbours.
            if part.leases.last() != Some(&lease) {
                part.leases.push(lease);
            }
            part.of_lease.push(part.leases.len() - 1);
        }
        part
    }
}

/// What is unique for one attempt, in the order of the lanes and of the table.
fn attempt(outcome: &Outcome) -> (Lane, uuid::Uuid, i64, uuid::Uuid, i32) {
    let Outcome { record, token, revision, .. } = outcome;
    (record.lane, token.uuid(), record.position.0, record.id.uuid(), *revision)
}

fn is_published(outcome: &Outcome) -> bool {
    Ending::of(&outcome.kind) == Ending::Published
}

fn texts(kind: &OutcomeKind) -> usize {
    note(kind).len() + reason(kind).len()
}
