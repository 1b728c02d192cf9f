//! The state of a running dispatcher and what runs beside it.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::time::Duration;

use outbox_core::{
    Fleet, Lane, LaneLease, LeaseTime, OutboxStats, Position, RecordRef, StoreError, StoreErrorKind,
};
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;
use tracing::Instrument;

use super::Dispatcher;
use super::contact::Contact;
use super::crash_loop::CrashLoop;
use super::destinations::{Destinations, InFlight};
use super::held::{Entry, Unwritten};
use super::key_queue::Admission;
use super::lane_window::LaneWindow;
use super::publish::{Death, Flight, Sent};
use super::read::{ReadAnswer, ReadTicket, Reader};
use super::routing::GivenUp;
use super::settle::{Ledger, SettleAnswer};
use super::tend::{TendPlan, Tended};
use crate::chain::Chain;
use crate::gate::{Gate, Passage};
use crate::metrics::Measurement;

/// What runs beside the loop, with what must be known if it dies.
#[derive(Debug)]
pub(super) enum Running {
    Mark(LaneLease, Option<RecordRef>),
    Publish(Flight),
    Read(ReadTicket),
    Count,
    Settle {
        ledger: usize,
        cursors: Vec<(Lane, Position)>,
        written: Vec<Unwritten>,
        begun: Instant,
    },
    Tend(Box<TendPlan>),
}

/// How it ended.
#[derive(Debug)]
pub(super) enum Answer {
    Marked(Result<bool, StoreError>),
    Published(Vec<Sent>),
    Read(ReadAnswer),
    Counted(Result<OutboxStats, StoreError>),
    Settled(SettleAnswer),
    Tended(Box<Tended>),
}

pub(super) type Report = Result<(Id, Answer), JoinError>;

/// All state of the loop.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) parts: Dispatcher,
    pub(super) lease: LeaseTime,
    pub(super) lanes: BTreeMap<Lane, LaneWindow>,
    pub(super) destinations: Destinations,
    /// Shut while credentials fail: then nothing can be sent to any topic.
    pub(super) credentials: Gate,
    pub(super) ledgers: Vec<Ledger>,
    pub(super) readers: Vec<Reader>,
    pub(super) fleet: Fleet,
    /// Whether `fleet` was told by the store.
    pub(super) has_met_others: bool,
    pub(super) given_up: GivenUp,
    pub(super) begun: Instant,
    pub(super) tend_at: Instant,
    pub(super) count_at: Instant,
    pub(super) contact: Contact,
    pub(super) crash_loop: CrashLoop,
    pub(super) deaths: Vec<Death>,
    pub(super) leasing: StoreTrouble,
    pub(super) reading: StoreTrouble,
    pub(super) settling: StoreTrouble,
    pub(super) running: HashMap<Id, Running>,
    pub(super) work: JoinSet<Answer>,
    pub(super) draining: bool,
}

impl Desk {
    pub(super) fn new(parts: Dispatcher) -> Self {
        let now = Instant::now();
        let readers = usize::from(parts.settings.readers.get());
        let in_flight = InFlight {
            calls: parts.settings.concurrency.get(),
            bytes: parts.settings.held_bytes / 4,
        };
        Self {
            lease: parts.lease,
            lanes: BTreeMap::new(),
            destinations: Destinations::new(in_flight),
            credentials: Gate::default(),
            ledgers: (0..readers).map(|_| Ledger::new(now)).collect(),
            readers: vec![Reader::new(parts.settings.idle_poll); readers],
            fleet: Fleet { sharing: 1, ..Fleet::default() },
            has_met_others: false,
            given_up: GivenUp::default(),
            begun: now,
            tend_at: now,
            count_at: now,
            contact: Contact::new(now),
            crash_loop: CrashLoop::new(now),
            deaths: Vec::new(),
            leasing: StoreTrouble::of("lease"),
            reading: StoreTrouble::of("read"),
            settling: StoreTrouble::of("settle"),
            running: HashMap::new(),
            work: JoinSet::new(),
            draining: false,
            parts,
        }
    }

    /// Starts every phase that has something to do now.
    pub(super) fn start_what_is_due(&mut self, now: Instant) {
        self.start_tending(now);
        self.start_publishing(now);
        self.start_settling(now);
        self.start_reading(now);
        self.start_counting(now);
    }

    /// The next phase that ends; waits for ever while none runs.
    pub(super) async fn next_report(&mut self) -> Report {
        match self.work.join_next_with_id().await {
            Some(report) => report,
            None => std::future::pending().await,
        }
    }

    /// Takes what a phase reports.
    pub(super) fn take(&mut self, report: Report) {
        let id = match &report {
            Ok((id, _)) => *id,
            Err(died) => died.id(),
        };
        let Some(running) = self.running.remove(&id) else { return };
        let answer = report.ok().map(|(_, answer)| answer);
        match (running, answer) {
            (Running::Mark(lease, record), answer) => {
                let marked = match answer {
                    Some(Answer::Marked(answer)) => answer,
                    _ => Err(died()),
                };
                self.take_marked(lease, record, marked);
            }
            (Running::Publish(flight), Some(Answer::Published(sent))) => {
                self.take_sent(flight, sent);
            }
            (Running::Publish(flight), _) => self.take_died_publisher(flight),
            (Running::Read(ticket), Some(Answer::Read(answer))) => self.take_read(ticket, answer),
            (Running::Read(ticket), _) => self.take_read(ticket, Err(died())),
            (Running::Settle { ledger, cursors, written, begun }, answer) => {
                let answer = match answer {
                    Some(Answer::Settled(answer)) => answer,
                    _ => Err(died()),
                };
                self.take_settled(ledger, &cursors, written, begun, answer);
            }
            (Running::Count, Some(Answer::Counted(answer))) => self.take_counted(Some(answer)),
            (Running::Count, _) => self.take_counted(None),
            (Running::Tend(_), Some(Answer::Tended(tended))) => self.take_tended(*tended),
            (Running::Tend(plan), _) => self.take_died_tending(&plan),
        }
    }

    /// When the loop has something to do even if nothing is reported, after all that was due at this
    /// instant is begun.
    pub(super) fn next_wake(&self, now: Instant) -> Instant {
        let mut wake = now + Duration::from_secs(1);
        let mut sooner = |instant: Instant| wake = wake.min(instant.max(now));
        if !self.is_tending() {
            sooner(self.tend_at);
        }
        if !self.draining {
            self.next_read().into_iter().for_each(&mut sooner);
            self.next_probe(now).into_iter().for_each(&mut sooner);
        }
        self.next_settle().into_iter().for_each(&mut sooner);
        self.crash_loop.next_try().into_iter().for_each(&mut sooner);
        // A clock that stands still for a millisecond must not make the loop spin.
        wake.max(now + Duration::from_millis(1))
    }

    /// When a gate lets a record through that is shut now.
    ///
    /// What waits behind one that is not shut lacks something else, such as room among the calls, and
    /// a report tells when it has that.
    fn next_probe(&self, now: Instant) -> Option<Instant> {
        match self.credentials.passage(now) {
            // While credentials fail, no topic is waited for.
            Passage::Shut => self.credentials.opens_at().filter(|_| self.destinations.has_ready()),
            Passage::Open | Passage::Probe => self.destinations.opens_after(now),
        }
    }

    /// Puts a record that was just read, or whose turn has come, where it belongs.
    pub(super) fn admit(&mut self, lane: Lane, entry: Entry) {
        let Some(window) = self.lanes.get_mut(&lane) else { return };
        match window.admit(entry) {
            Admission::Next(entry) => self.take_turn(*entry),
            Admission::Park(entry) => self.park(&entry),
            Admission::Wait => {}
        }
    }

    /// The turn of what was read has come.
    pub(super) fn take_turn(&mut self, entry: Entry) {
        match entry {
            Entry::Broken(row, token) => self.bury(&row, token),
            Entry::Record(held) if self.gives_up_suspect(&held) => {}
            Entry::Record(held) => self.destinations.push(held),
        }
    }

    /// Records and bytes in memory. What is in flight is there twice, once as it is encoded.
    pub(super) fn held(&self) -> (usize, usize) {
        let add = |sum: (usize, usize), held: (usize, usize)| (sum.0 + held.0, sum.1 + held.1);
        let encoded = (0, self.destinations.in_flight().bytes);
        self.lanes.values().map(LaneWindow::held).fold(encoded, add)
    }

    /// Lets go of a lane that another worker holds now.
    pub(super) fn lose_lane(&mut self, lane: Lane) {
        if let Some(window) = self.lanes.remove(&lane) {
            if window.held().0 > 0 {
                self.parts.measure(&Measurement::LaneLost);
                tracing::warn!(
                    lane = lane.number(),
                    held = window.held().0,
                    "lease lost while records were held: they may be sent again by another worker"
                );
            }
            self.forget_outcomes_of(&window);
        }
    }

    /// Lets go of a lane unless it was leased anew since.
    pub(super) fn lose_lease(&mut self, lease: LaneLease) {
        if self.lanes.get(&lease.lane).is_some_and(|window| window.lease == lease) {
            self.lose_lane(lease.lane);
        }
    }

    pub(super) fn spawn(
        &mut self,
        running: Running,
        span: tracing::Span,
        work: impl Future<Output = Answer> + Send + 'static,
    ) {
        let id = self.work.spawn(work.instrument(span)).id();
        self.running.insert(id, running);
    }
}

/// Bounds a call of the store; a call that does not answer in time has an unknown ending.
pub(super) async fn bounded<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    match tokio::time::timeout(limit, call).await {
        Ok(answer) => answer,
        Err(_) => Err(StoreError::new(StoreErrorKind::Unavailable, "no answer in time")),
    }
}

pub(super) fn died() -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, "the call panicked")
}

/// Says once that a phase fails, and once that it works again.
#[derive(Debug)]
pub(super) struct StoreTrouble {
    phase: &'static str,
    failures: u32,
    worked_at: Option<Instant>,
}

impl StoreTrouble {
    pub(super) const fn of(phase: &'static str) -> Self {
        Self { phase, failures: 0, worked_at: None }
    }

    /// A call that began then has failed. It tells nothing new where another one has worked since, as
    /// the last of several do that were stuck together.
    pub(super) fn failed(&mut self, dispatcher: &Dispatcher, begun: Instant, error: &StoreError) {
        if self.worked_at.is_some_and(|at| begun < at) {
            return;
        }
        self.failures += 1;
        if self.failures == 1 {
            dispatcher.measure(&Measurement::Store { phase: self.phase, works: false });
            let error = Chain(error);
            tracing::warn!(phase = self.phase, %error, "the store fails: waiting for it");
        }
    }

    pub(super) fn worked(&mut self, dispatcher: &Dispatcher) {
        self.worked_at = Some(Instant::now());
        if self.failures > 0 {
            dispatcher.measure(&Measurement::Store { phase: self.phase, works: true });
            let failures = self.failures;
            tracing::info!(phase = self.phase, failures, "the store works again");
            self.failures = 0;
        }
    }

    /// How long to wait before the next call.
    pub(super) fn pause(&self) -> Duration {
        let doubled = Duration::from_millis(100) * 2_u32.saturating_pow(self.failures.min(6));
        doubled.min(Duration::from_secs(3)).mul_f64(0.5 + fastrand::f64() / 2.0)
    }
}
