//! What must hold in every run.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;

use outbox_core::{DeadReason, FailureKind, OutboxRecord};

use super::duplicates::{Window, began, windows};
use super::fault::Fault;
use super::journal::{Answer, Call, Effect, Entry, Event, Fact, Send, Written};
use super::plan::Plan;
use super::run::Run;

/// What is to be said about a run.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) seed: u64,
    pub(super) violations: Vec<String>,
    pub(super) journal: Vec<Entry>,
    /// Faults that calls met.
    pub(super) met: HashSet<Fault>,
    pub(super) windows: Vec<Window>,
    pub(super) workers: usize,
    pub(super) events: usize,
    pub(super) faults: usize,
}

/// The journal by what is asked of it.
struct Judge<'a> {
    plan: &'a Plan,
    journal: &'a [Entry],
    staged: BTreeMap<Event, usize>,
    committed: BTreeMap<Event, usize>,
    taken: BTreeMap<Event, Vec<(usize, Send)>>,
    dead: BTreeMap<Event, (usize, DeadReason)>,
    /// Calls under a lease that a step of the database's clock had ended.
    under_cut: HashSet<Call>,
    violations: Vec<String>,
}

impl Verdict {
    /// Whether the seed draws what every seed has to.
    pub(super) const fn is_full(&self) -> bool {
        self.workers >= 2 && self.events >= 30 && self.faults >= 3
    }

    pub(super) fn on(run: &Run) -> Self {
        let mut state = run.world.state();
        let (journal, met) = (std::mem::take(&mut state.journal), std::mem::take(&mut state.met));
        let violations = std::mem::take(&mut state.violations);
        let under_cut = std::mem::take(&mut state.under_cut);
        drop(state);
        let plan = &run.world.plan;
        let mut judge = Judge { under_cut, ..Judge::new(plan, &journal, violations) };
        let windows = judge.repeated_sends();
        judge.sends_follow_commits();
        judge.nothing_is_lost(run);
        judge.keys_are_in_order();
        judge.dead_keys_are_left_alone();
        judge.claims_are_left_alone();
        judge.attempts_are_counted(run);
        judge.deaths_have_their_reason();
        Self {
            seed: plan.seed,
            violations: judge.violations,
            met,
            windows,
            workers: plan.workers,
            events: plan.events.len(),
            faults: plan.faults.len(),
            journal,
        }
    }
}

impl<'a> Judge<'a> {
    fn new(plan: &'a Plan, journal: &'a [Entry], violations: Vec<String>) -> Self {
        let mut judge = Self {
            plan,
            journal,
            staged: BTreeMap::new(),
            committed: BTreeMap::new(),
            taken: BTreeMap::new(),
            dead: BTreeMap::new(),
            under_cut: HashSet::new(),
            violations,
        };
        for (at, entry) in journal.iter().enumerate() {
            match entry.fact {
                Fact::Committed(event) => _ = judge.committed.insert(event, at),
                Fact::Settled {
                    event,
                    outcome: Written::Dead(reason),
                    effect: Effect::Applied,
                    ..
                } => _ = judge.dead.insert(event, (at, reason)),
                Fact::Staged(event) => _ = judge.staged.insert(event, at),
                Fact::Taken(send) => judge.taken.entry(send.event).or_default().push((at, send)),
                _ => {}
            }
        }
        judge
    }

    fn violated(&mut self, what: String) {
        self.violations.push(what);
    }

    /// Every repeated send has its window.
    fn repeated_sends(&mut self) -> Vec<Window> {
        let mut found = Vec::new();
        for event in self.taken.keys().copied().collect::<Vec<_>>() {
            for window in windows(self.journal, event) {
                match window {
                    Some(window) => found.push(window),
                    None => self.violated(format!("{event} was sent again for no reason")),
                }
            }
        }
        found
    }

    /// Nothing is sent that was rolled back, not yet committed or not yet due.
    fn sends_follow_commits(&mut self) {
        for (event, sends) in self.taken.clone() {
            let first = sends[0].0;
            if self.committed.get(&event).is_none_or(|committed| *committed > first) {
                self.violated(format!("{event} was sent without a commit"));
            }
            let due = self.plan.event(event).delay.unwrap_or_default();
            let staged = &self.journal[self.staged[&event]];
            if self.journal[first].database < staged.database + due {
                self.violated(format!("{event} was sent before it was due"));
            }
        }
    }

    /// What was committed is at the broker, or a dead letter, or parked behind one.
    fn nothing_is_lost(&mut self, run: &Run) {
        let dead: BTreeSet<Event> =
            run.store.dead_letters().iter().map(|letter| self.event_of(&letter.record)).collect();
        let parked = run.store.parked();
        let keys = run.store.parked_keys();
        for record in &parked {
            if !keys.iter().any(|(key, _)| Some(key) == record.key().as_ref()) {
                let event = self.event_of(record);
                self.violated(format!("{event} is parked under a key that is not"));
            }
        }
        let parked: BTreeSet<Event> = parked.iter().map(|record| self.event_of(record)).collect();
        for event in self.committed.keys().copied().collect::<Vec<_>>() {
            let sent = self.taken.contains_key(&event);
            if !sent && !dead.contains(&event) && !parked.contains(&event) {
                self.violated(format!("{event} is lost"));
            }
        }
        for record in run.store.pending() {
            let event = self.event_of(&record);
            self.violated(format!("{event} is still to be sent"));
        }
    }

    /// An event that was committed before another of its key was staged is sent first. Those that are
    /// scheduled take their place when they are due, and are read before what waits longer.
    ///
    /// A worker whose lease a step of the database's clock ends early does not know it until it renews.
    /// Until then it reads on, and does not see what its successor has just failed to send.
    fn keys_are_in_order(&mut self) {
        for (later, sends) in self.taken.clone() {
            let (sent, staged) = (sends[0].0, self.staged[&later]);
            if self.under_cut.contains(&sends[0].1.call) {
                continue;
            }
            for (earlier, committed) in self.committed.clone() {
                let scheduled =
                    [earlier, later].iter().any(|of| self.plan.event(*of).delay.is_some());
                if scheduled || committed > staged || !self.shares_key(earlier, later) {
                    continue;
                }
                let first = self.taken.get(&earlier).map(|sends| sends[0].0);
                if first.is_none_or(|first| first > sent) {
                    self.violated(format!("{later} was sent before {earlier} of its key"));
                }
            }
        }
    }

    /// Once an event of a key is dead, no send of the key begins.
    fn dead_keys_are_left_alone(&mut self) {
        for (event, mut sends) in self.taken.clone() {
            sends.retain(|(_, send)| !self.under_cut.contains(&send.call));
            for (dead, (died, _)) in self.dead.clone() {
                let began_after = |(_, send): &(_, Send)| began(self.journal, send) > died;
                if self.shares_key(dead, event) && sends.iter().any(began_after) {
                    self.violated(format!("{event} was sent behind {dead} of its key"));
                }
            }
        }
    }

    /// Whoever leases a lane after a record of it was claimed leaves the record alone.
    fn claims_are_left_alone(&mut self) {
        for (claimed, entry) in self.journal.iter().enumerate() {
            let Fact::Claimed { event, until } = entry.fact else { continue };
            let later = || self.journal.iter().enumerate().skip(claimed);
            let is_over = |entry: &Entry| match entry.fact {
                Fact::ClaimOver { event: of } => of == event,
                _ => entry.database >= until,
            };
            let over = later().find(|(_, entry)| is_over(entry)).map_or(usize::MAX, |(at, _)| at);
            let sends = self.taken.get(&event).into_iter().flatten();
            let by_owner = |(_, send): &&(usize, Send)| {
                let lease = (send.lane, send.epoch);
                later().any(|(_, entry)| {
                    matches!(&entry.fact, Fact::Leased { leases, .. } if leases.contains(&lease))
                })
            };
            if sends.filter(by_owner).any(|(sent, _)| *sent < over) {
                self.violations.push(format!("{event} was sent while it was claimed"));
            }
        }
    }

    /// A record counts each attempt that failed at most once, and nothing else.
    fn attempts_are_counted(&mut self, run: &Run) {
        let letters = run.store.dead_letters().into_iter().map(|letter| {
            let tried = u32::from(letter.reason != DeadReason::Undecodable);
            (letter.record, tried)
        });
        let others = run.store.parked().into_iter().chain(run.store.pending());
        for (record, died) in letters.chain(others.map(|record| (record, 0))) {
            let event = self.event_of(&record);
            let written = self.failures_written(event) + died;
            if record.attempts != written {
                let attempts = record.attempts;
                self.violated(format!("{event} counts {attempts} attempts instead of {written}"));
            }
        }
        for event in self.committed.keys().copied().collect::<Vec<_>>() {
            let failed = self.answers_to(event).filter(|answer| answer.is_counted()).count();
            let written = self.failures_written(event) as usize;
            if written > failed {
                self.violated(format!("{event} failed {failed} times and counts {written}"));
            }
        }
    }

    fn deaths_have_their_reason(&mut self) {
        let most = self.plan.retry.max_attempts.map_or(u32::MAX, u32::from);
        for (event, (_, reason)) in self.dead.clone() {
            let rejected = Answer::Failed(FailureKind::Message);
            let deserved = match reason {
                DeadReason::AttemptsExhausted => self.failures_written(event) + 1 >= most,
                DeadReason::Rejected => self.answers_to(event).any(|answer| answer == rejected),
                DeadReason::Undecodable => self.plan.event(event).is_damaged,
                _ => false,
            };
            if !deserved {
                self.violated(format!("{event} is dead as {reason} for no reason"));
            }
        }
    }

    fn failures_written(&self, of: Event) -> u32 {
        let failed = |entry: &&Entry| {
            let Fact::Settled { event, outcome, effect, .. } = entry.fact else { return false };
            event == of && outcome == Written::Failed && effect == Effect::Applied
        };
        u32::try_from(self.journal.iter().filter(failed).count()).unwrap()
    }

    fn answers_to(&self, of: Event) -> impl Iterator<Item = Answer> {
        self.journal.iter().filter_map(move |entry| match entry.fact {
            Fact::Answered { event, answer, .. } if event == of => Some(answer),
            _ => None,
        })
    }

    fn shares_key(&self, one: Event, other: Event) -> bool {
        let (one, other) = (self.plan.event(one), self.plan.event(other));
        one.key.is_some() && (one.topic, one.key) == (other.topic, other.key) && one.id != other.id
    }

    fn event_of(&self, record: &OutboxRecord) -> Event {
        self.plan.event_of(record.reference.id)
    }
}

/// The whole story of a run that failed.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.journal.iter().try_for_each(|entry| writeln!(f, "{entry}"))?;
        writeln!(f, "OUTBOX_TEST_SEED={}", self.seed)?;
        self.violations.iter().try_for_each(|violation| writeln!(f, "VIOLATED: {violation}"))
    }
}
