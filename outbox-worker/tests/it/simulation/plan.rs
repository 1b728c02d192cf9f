//! What a seed draws: events, transactions, settings and faults.

use std::num::{NonZeroU8, NonZeroU32, NonZeroUsize};
use std::time::Duration;

use bytes::Bytes;
use fastrand::Rng;
use outbox_core::{
    EventId, ExponentialBackoff, FailureKind, OutboxMessage, Schedule, StagedMessage,
};
use outbox_testing::{CommitOrder, StoreCall};
use outbox_worker::DispatcherSettings;
use uuid::Uuid;

use super::fault::{Fault, Halt, Place, Trap, Trouble};
use super::journal::Event;

/// A fifth of the default, as are the other times, so that a run is short.
pub(super) const LEASE: Duration = Duration::from_secs(3);
const COMMITTED: usize = 30;
const TOPICS: [&str; 3] = ["mails", "orders", "stock"];
const KEYS: [&str; 3] = ["a", "b", "c"];
/// Faults and transactions begin within this time.
const BUSY: Duration = Duration::from_secs(5);
/// Transactions come in so many bursts: while nothing happens a run costs little.
const BURSTS: u32 = 3;

/// All that a run does by itself. What calls meet is drawn on the way, from the same seed.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) commits: CommitOrder,
    pub(super) settings: DispatcherSettings,
    pub(super) retry: ExponentialBackoff,
    pub(super) batch: NonZeroUsize,
    pub(super) workers: usize,
    pub(super) events: Vec<PlannedEvent>,
    /// In order of time.
    pub(super) steps: Vec<(Duration, Step)>,
    /// The kinds of fault that were drawn.
    pub(super) faults: Vec<Fault>,
    /// When the last fault is over.
    pub(super) calm_from: Duration,
}

/// An event of the application.
#[derive(Clone, Debug)]
pub(super) struct PlannedEvent {
    pub(super) id: EventId,
    pub(super) topic: &'static str,
    pub(super) key: Option<&'static str>,
    pub(super) delay: Option<Duration>,
    pub(super) commits: bool,
    /// The broker will never take it.
    pub(super) is_refused: bool,
    /// Its row cannot be decoded.
    pub(super) is_damaged: bool,
}

/// Something that happens at a given time.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Claim(Event, ClaimEnd, Duration),
    Commit { transaction: usize },
    Drain { slot: usize },
    RollBack { transaction: usize },
    Stage { transaction: usize, event: Event },
    Start { slot: usize },
    ForwardClock(Duration),
    Strike(Trouble),
    Trap { slot: usize, trap: Trap },
}

/// What becomes of a record that another holds by a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClaimEnd {
    /// It is sent and settled.
    Completed,
    /// A failed attempt is written.
    Failed,
    /// Nothing is done until the claim is over.
    RunsOut,
    /// It is sent, and the claim is over before that is settled.
    SentAndRunsOut,
}

impl Plan {
    pub(super) fn draw(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let mut plan = Self {
            seed,
            commits: pick(
                &mut rng,
                &[CommitOrder::Numbered, CommitOrder::Ordered, CommitOrder::Unknown],
            ),
            settings: settings(&mut rng),
            retry: retry(&mut rng),
            batch: pick(&mut rng, &[NonZeroUsize::MIN, TEN, TEN]),
            workers: pick(&mut rng, &[2, 2, 3]),
            events: Vec::new(),
            steps: Vec::new(),
            faults: Vec::new(),
            calm_from: BUSY,
        };
        // The first transactions are there before the workers, for whoever claims single records.
        plan.draw_transaction(&mut rng, Duration::ZERO);
        plan.draw_transaction(&mut rng, Duration::ZERO);
        while plan.events.iter().filter(|event| event.commits).count() < COMMITTED {
            let burst = BUSY * rng.u32(0..BURSTS) / BURSTS;
            let at = burst + draw_time(&mut rng, millis(20), millis(150));
            plan.draw_transaction(&mut rng, at);
        }
        for _ in 0..rng.usize(3..=7) {
            let fault = pick(&mut rng, &Fault::ALL);
            plan.draw_fault(&mut rng, fault);
        }
        for slot in 0..plan.workers {
            plan.at(millis(10 * slot as u64), Step::Start { slot });
        }
        // Stable: a transaction is staged before it ends at one instant.
        plan.steps.sort_by_key(|(at, _)| *at);
        plan
    }

    /// The event with this identity.
    pub(super) fn event_of(&self, id: EventId) -> Event {
        Event(self.events.iter().position(|event| event.id == id).unwrap())
    }

    pub(super) fn event(&self, event: Event) -> &PlannedEvent {
        &self.events[event.0]
    }

    pub(super) fn staged(&self, event: Event) -> StagedMessage {
        let planned = self.event(event);
        let payload = Bytes::from_static(b"{}");
        let source = "https://shop.example";
        let mut message =
            OutboxMessage::new(planned.id, "orders.changed", planned.topic, source, payload);
        message.ordering_key = planned.key.map(str::to_owned);
        message.partition_key.clone_from(&message.ordering_key);
        let schedule = planned.delay.map_or(Schedule::Now, Schedule::After);
        StagedMessage { message, schedule }
    }

    fn at(&mut self, at: Duration, step: Step) {
        self.steps.push((at, step));
    }

    /// One to three events of one transaction; one in ten is rolled back, and some end late.
    fn draw_transaction(&mut self, rng: &mut Rng, from: Duration) {
        let transaction = self.steps.len();
        let commits = from.is_zero() || rng.u32(0..10) > 0;
        let mut at = from;
        for _ in 0..rng.usize(1..=3) {
            let event = Event(self.events.len());
            self.events.push(draw_event(rng, commits));
            self.at(at, Step::Stage { transaction, event });
            if !from.is_zero() && rng.u32(0..4) == 0 {
                at += draw_time(rng, millis(1), millis(400));
            }
        }
        if !from.is_zero() && rng.u32(0..3) == 0 {
            at += draw_time(rng, millis(50), millis(2500));
        }
        let end =
            if commits { Step::Commit { transaction } } else { Step::RollBack { transaction } };
        self.at(at, end);
    }

    fn draw_fault(&mut self, rng: &mut Rng, fault: Fault) {
        let from = draw_time(rng, millis(100), BUSY);
        let slot = rng.usize(0..self.workers);
        match fault {
            Fault::ClaimHeld => self.draw_claim(rng),
            Fault::ClockForward => {
                let by = draw_time(rng, millis(300), millis(5000));
                self.at(from, Step::ForwardClock(by));
            }
            Fault::Refused(FailureKind::Message) => self.draw_committed(rng).is_refused = true,
            Fault::Undecodable => self.draw_committed(rng).is_damaged = true,
            Fault::WorkerDrained => self.at(from, Step::Drain { slot }),
            Fault::WorkerFrozen => {
                let time = LEASE + draw_time(rng, millis(100), LEASE);
                self.draw_trap(rng, from, slot, Halt::Freeze(time));
                self.calm_from = self.calm_from.max(from + time);
            }
            Fault::WorkerKilled => self.draw_trap(rng, from, slot, Halt::Kill),
            _ => self.draw_trouble(rng, fault, from, slot),
        }
        self.faults.push(fault);
    }

    fn draw_trap(&mut self, rng: &mut Rng, from: Duration, slot: usize, halt: Halt) {
        let place = pick(rng, &[Place::Send, Place::Store, Place::Taken, Place::Taken]);
        let trap = Trap { halt, place, passes: rng.u32(1..=4) };
        self.at(from, Step::Trap { slot, trap });
    }

    /// A fault that calls meet for a while.
    fn draw_trouble(&mut self, rng: &mut Rng, fault: Fault, from: Duration, slot: usize) {
        let (times, lasts) = match fault {
            Fault::StoreDown => (u32::MAX, draw_time(rng, millis(200), LEASE * 2)),
            Fault::SettleImpossible => (u32::MAX, LEASE + draw_time(rng, millis(800), LEASE)),
            Fault::Refused(_) if rng.bool() => (u32::MAX, draw_time(rng, millis(200), LEASE * 3)),
            Fault::DrainDuringSend => (1, LEASE),
            _ => (rng.u32(1..=5), LEASE),
        };
        let any = rng.bool() || fault == Fault::StoreDown;
        let writes = [StoreCall::Lease, StoreCall::Release, StoreCall::Renew, StoreCall::Settle];
        let others = [StoreCall::Acquired, StoreCall::Heartbeat, StoreCall::Read];
        let call = match fault {
            Fault::SettleImpossible => Some(StoreCall::Settle),
            Fault::StatementLate => Some(pick(rng, &writes)),
            _ if any => None,
            _ => Some(pick(rng, &[writes.as_slice(), &others].concat())),
        };
        let trouble = Trouble {
            fault,
            until: from + lasts,
            slot: (!any).then_some(slot),
            topic: (!any && rng.bool()).then(|| pick(rng, &TOPICS)),
            call,
            times,
        };
        self.calm_from = self.calm_from.max(trouble.until);
        self.at(from, Step::Strike(trouble));
    }

    /// Claims give no order, so that a claimant sends only what has none.
    fn draw_claim(&mut self, rng: &mut Rng) {
        let ends =
            [ClaimEnd::Failed, ClaimEnd::RunsOut, ClaimEnd::Completed, ClaimEnd::SentAndRunsOut];
        let (mut event, mut end) = (Event(0), ClaimEnd::RunsOut);
        if rng.bool() {
            event = Event(1.min(self.events.len() - 1));
        }
        if self.event(event).key.is_none() {
            end = pick(rng, &ends);
        } else if rng.bool() {
            end = ClaimEnd::Failed;
        }
        self.at(Duration::ZERO, Step::Claim(event, end, draw_time(rng, millis(200), LEASE * 2)));
    }

    fn draw_committed(&mut self, rng: &mut Rng) -> &mut PlannedEvent {
        let mut committed: Vec<_> = self.events.iter_mut().filter(|event| event.commits).collect();
        committed.swap_remove(rng.usize(0..committed.len()))
    }
}

const TEN: NonZeroUsize = NonZeroUsize::new(10).unwrap();

fn draw_event(rng: &mut Rng, commits: bool) -> PlannedEvent {
    PlannedEvent {
        id: EventId::from_uuid(Uuid::from_u128(rng.u128(1..))).unwrap(),
        topic: pick(rng, &TOPICS),
        key: (rng.u32(0..3) > 0).then(|| pick(rng, &KEYS)),
        delay: (rng.u32(0..7) == 0).then(|| draw_time(rng, millis(100), millis(4000))),
        commits,
        is_refused: false,
        is_damaged: false,
    }
}

fn settings(rng: &mut Rng) -> DispatcherSettings {
    let mut settings = DispatcherSettings::default();
    settings.lease = LEASE;
    settings.publish_timeout = millis(1200);
    settings.margin = millis(500);
    settings.store_timeout = millis(800);
    settings.drain_timeout = millis(pick(rng, &[200, 2000]));
    settings.idle_poll = millis(1000);
    settings.readers =
        pick(rng, &[NonZeroU8::MIN, NonZeroU8::MIN, NonZeroU8::MIN.saturating_add(1)]);
    settings.concurrency = pick(rng, &[NonZeroUsize::MIN, TEN]);
    let records = settings.read_records;
    settings.read_records = pick(rng, &[NonZeroU32::MIN.saturating_add(4), records, records]);
    settings.held_records = pick(rng, &[TEN, settings.held_records]);
    settings
}

fn retry(rng: &mut Rng) -> ExponentialBackoff {
    let mut retry = ExponentialBackoff::default();
    retry.base = millis(100);
    retry.cap = millis(1000);
    retry.max_attempts = NonZeroU32::new(pick(rng, &[2, 20, 20, 20]));
    retry
}

pub(super) fn pick<T: Clone>(rng: &mut Rng, choices: &[T]) -> T {
    choices[rng.usize(0..choices.len())].clone()
}

pub(super) fn draw_time(rng: &mut Rng, from: Duration, to: Duration) -> Duration {
    let span = u64::try_from(to.saturating_sub(from).as_millis()).unwrap();
    from + millis(rng.u64(0..=span))
}

pub(super) const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
