//! What must hold in every interleaving of workers.

use std::collections::{BTreeMap, BTreeSet};

use outbox_core::{LaneLease, Outcome, OutcomeKind, RecordRef, Settled};
use uuid::Uuid;

use super::scene::{Place, Sight};
use super::schedule::Trace;
use super::server::Server;

/// What a session was answered.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// Whether a claim was granted.
    Claimed(bool),
    Leased(Vec<LaneLease>),
    Read(Vec<RecordRef>),
    Renewed(Vec<LaneLease>),
    Settled(Vec<Outcome>, Settled),
    /// How many rows were written.
    Wrote(u64),
}

/// Sees each step from outside.
#[derive(Debug)]
pub(crate) struct Watch {
    /// The sessions of the worker that holds the lanes that were leased before.
    owners: Vec<usize>,
    clock: usize,
    first: Sight,
    last: Sight,
    /// Lanes that went to somebody else.
    granted: BTreeSet<i64>,
}

impl Watch {
    pub(crate) async fn begin(server: &Server, owners: Vec<usize>, clock: usize) -> Self {
        let first = Sight::of(server).await;
        Self { owners, clock, last: first.clone(), first, granted: BTreeSet::new() }
    }

    /// Looks where a step can have shown something: at a commit, where that is a step.
    pub(crate) async fn look(&mut self, server: &Server, trace: &Trace) {
        let Some(step) = trace.steps.last() else { return };
        if server.is_sqlite() || step.actor == self.clock || step.sql == "COMMIT" {
            self.see(server, trace).await;
        }
    }

    /// Fails where a step did what nobody may do.
    pub(crate) async fn see(&mut self, server: &Server, trace: &Trace) {
        let sight = Sight::of(server).await;
        let actor = trace.steps.last().map(|step| step.actor);
        // Where time is the leases' age, it changes them.
        self.leases_change_hands_when_they_end(&sight, trace);
        self.records_change_under_the_current_lease(&sight, actor, trace);
        self.last = sight;
    }

    fn leases_change_hands_when_they_end(&mut self, sight: &Sight, trace: &Trace) {
        let passed = trace.first(self.clock, "an hour passes").is_some();
        for (lane, (token, end)) in &sight.lanes {
            let (before, before_end) = self.last.lanes[lane];
            if before == *token {
                let shorter = end < &before_end && !(passed && self.clock_just_moved(trace));
                assert!(!shorter, "the lease of lane {lane} was cut\n{}", trace.text());
                continue;
            }
            let was_free = before.is_none();
            assert!(was_free || passed, "a live lease of lane {lane} is lost\n{}", trace.text());
            let once = self.granted.insert(*lane);
            assert!(once, "lane {lane} was leased twice\n{}", trace.text());
        }
    }

    fn clock_just_moved(&self, trace: &Trace) -> bool {
        trace.steps.last().is_some_and(|step| step.actor == self.clock)
    }

    fn records_change_under_the_current_lease(
        &self,
        sight: &Sight,
        actor: Option<usize>,
        trace: &Trace,
    ) {
        for (position, place) in &self.last.records {
            let now = sight.records.get(position);
            let settled = |was: &Place| (was.table.clone(), was.revision);
            if now.map(settled) == Some(settled(place)) {
                continue;
            }
            let (before, after) = (self.last.lanes[&place.lane].0, sight.lanes[&place.lane].0);
            let lane = place.lane;
            assert_eq!(before, after, "lane {lane} changed hands while it was settled");
            let is_first = before == self.first.lanes[&place.lane].0;
            let by_owner = actor.is_some_and(|actor| self.owners.contains(&actor));
            let text = trace.text();
            assert_eq!(by_owner, is_first, "{actor:?} settled in lane {lane} of another\n{text}");
        }
    }

    /// What the sessions were told is what is there.
    pub(crate) fn end(&self, told: &[(usize, Answer)], trace: &Trace) {
        self.leases_are_as_told(told, trace);
        let mut applied = BTreeMap::new();
        for (actor, answer) in told {
            if let Answer::Settled(outcomes, settled) = answer {
                for record in &settled.applied {
                    let position = record.position;
                    let outcome = outcomes.iter().find(|outcome| outcome.record == *record);
                    let first = applied.insert(position.0, outcome.unwrap().kind.clone());
                    assert!(first.is_none(), "{actor} settled {position} again\n{}", trace.text());
                }
            }
        }
        for (_, answer) in told {
            if let Answer::Settled(outcomes, settled) = answer {
                lanes_are_settled_whole(outcomes, settled, &applied, trace);
            }
        }
        self.records_are_as_told(&applied, trace);
        no_settled_record_is_read(told, trace);
    }

    fn leases_are_as_told(&self, told: &[(usize, Answer)], trace: &Trace) {
        let mut tokens: BTreeSet<Uuid> =
            self.first.lanes.values().filter_map(|(token, _)| *token).collect();
        let mut granted = BTreeSet::new();
        for (_, answer) in told {
            let Answer::Leased(leases) = answer else { continue };
            for lease in leases {
                let (lane, token) = (i64::from(lease.lane.number()), lease.token.uuid());
                assert!(tokens.insert(token), "a token is used again\n{}", trace.text());
                assert!(granted.insert(lane), "lane {lane} went to two\n{}", trace.text());
                let held = self.last.lanes[&lane].0;
                assert_eq!(held, Some(token), "the lease of {lane} is lost\n{}", trace.text());
            }
        }
        assert_eq!(granted, self.granted, "a lane is leased and nobody knows\n{}", trace.text());
    }

    fn records_are_as_told(&self, applied: &BTreeMap<i64, OutcomeKind>, trace: &Trace) {
        for (position, before) in &self.first.records {
            let there = self.last.records.get(position);
            let there = there.map(|place| (place.table.as_str(), place.attempts, place.revision));
            let due = match applied.get(position) {
                None => Some(("message", before.attempts, before.revision)),
                Some(OutcomeKind::Dead { .. }) => Some(("dead_letter", 1, 0)),
                Some(OutcomeKind::Failed { .. }) => Some(("message", 1, 1)),
                Some(OutcomeKind::Parked) => Some(("parked", 0, 0)),
                Some(OutcomeKind::Published) => None,
            };
            assert_eq!(there, due, "record {position}\n{}", trace.text());
        }
    }

    pub(crate) const fn last(&self) -> &Sight {
        &self.last
    }

    pub(crate) const fn first(&self) -> &Sight {
        &self.first
    }
}

/// All outcomes of a lane took effect, or none; then the lease is lost, or an earlier call wrote them.
fn lanes_are_settled_whole(
    outcomes: &[Outcome],
    settled: &Settled,
    by_anyone: &BTreeMap<i64, OutcomeKind>,
    trace: &Trace,
) {
    for lane in outcomes.chunk_by(|a, b| a.record.lane == b.record.lane) {
        let (number, token) = (lane[0].record.lane, lane[0].token);
        let applied = lane.iter().filter(|it| settled.applied.contains(&it.record)).count();
        let lost = settled.lost.iter().any(|it| it.lane == number && it.token == token);
        let before = lane.iter().all(|it| by_anyone.contains_key(&it.record.position.0));
        let due = if lost || (applied == 0 && before) { 0 } else { lane.len() };
        assert_eq!(applied, due, "of lane {number}, lost: {lost}\n{}", trace.text());
    }
}

/// A record that a former owner settled is not sent again by the next one.
fn no_settled_record_is_read(told: &[(usize, Answer)], trace: &Trace) {
    for (reader, answer) in told {
        let Answer::Read(read) = answer else { continue };
        for (settler, answer) in told {
            let Answer::Settled(_, settled) = answer else { continue };
            let again = read.iter().find(|record| settled.applied.contains(record));
            let again = again.filter(|_| settler != reader);
            assert_eq!(again, None, "it is sent again\n{}", trace.text());
        }
    }
}
