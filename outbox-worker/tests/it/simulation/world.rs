//! What all processes of a run share: the journal, the clock of the database and the faults.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fastrand::Rng;
use outbox_core::{Lane, LaneLease, LeaseToken};
use outbox_testing::{ManualClock, StoreCall};

use super::fault::{Fault, Halt, Place, Trap, Trouble};
use super::journal::{Call, Entry, Epoch, Fact, Send, Worker};
use super::plan::{Plan, draw_time, millis};

/// A statement that takes effect when its caller no longer waits.
pub(super) type Late = Box<dyn FnOnce() + std::marker::Send>;

pub(super) struct World {
    pub(super) plan: Plan,
    pub(super) clock: ManualClock,
    state: Mutex<State>,
}

pub(super) struct State {
    pub(super) journal: Vec<Entry>,
    pub(super) violations: Vec<String>,
    /// Faults that calls met.
    pub(super) met: HashSet<Fault>,
    /// Workers that were told to stop by a fault.
    pub(super) stops: Vec<Worker>,
    pub(super) stopping: Vec<Worker>,
    pub(super) late: Vec<(Duration, Late)>,
    /// What the lanes are in truth, by the answers of the store.
    pub(super) lanes: BTreeMap<Lane, LaneTruth>,
    /// Leases since whose last renewal the database's clock has stepped, of which no owner knows.
    pub(super) cut: HashSet<Epoch>,
    /// Calls under such a lease.
    pub(super) under_cut: HashSet<Call>,
    /// Under which lease a worker believes to hold a lane, and when it was told.
    pub(super) held: HashMap<(Worker, Lane), (Epoch, Duration)>,
    now: Duration,
    database: Duration,
    /// How far the database's clock has stepped ahead.
    ahead: Duration,
    rng: Rng,
    troubles: Vec<Trouble>,
    traps: BTreeMap<Worker, Trap>,
    slots: BTreeMap<Worker, usize>,
    halted: BTreeMap<Worker, Halt>,
    thawed: BTreeMap<Worker, Duration>,
    epochs: HashMap<LeaseToken, Epoch>,
    calls: usize,
}

/// The lease of a lane and when it ends, by the database's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaneTruth {
    pub(super) epoch: Epoch,
    pub(super) ends: Duration,
}

impl World {
    pub(super) fn new(plan: Plan) -> Self {
        let rng = Rng::with_seed(plan.seed.wrapping_add(1 << 32));
        let state = State {
            journal: Vec::new(),
            violations: Vec::new(),
            met: HashSet::new(),
            stops: Vec::new(),
            stopping: Vec::new(),
            late: Vec::new(),
            lanes: BTreeMap::new(),
            cut: HashSet::new(),
            under_cut: HashSet::new(),
            held: HashMap::new(),
            now: Duration::ZERO,
            database: Duration::ZERO,
            ahead: Duration::ZERO,
            rng,
            troubles: Vec::new(),
            traps: BTreeMap::new(),
            slots: BTreeMap::new(),
            halted: BTreeMap::new(),
            thawed: BTreeMap::new(),
            epochs: HashMap::new(),
            calls: 0,
        };
        Self { plan, clock: ManualClock::new(), state: Mutex::new(state) }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It is this late for some process. Workers run one after another for a slice of time, so the
    /// database's clock is that of the foremost.
    pub(super) fn tick(&self, now: Duration) {
        let mut state = self.state();
        state.now = now;
        let database = state.database.max(now + state.ahead);
        self.clock.advance(database.saturating_sub(state.database));
        state.database = database;
    }

    pub(super) fn step_clock(&self, by: Duration) {
        let now = {
            let mut state = self.state();
            state.ahead += by;
            let held: Vec<Epoch> = state.lanes.values().map(|lane| lane.epoch).collect();
            state.cut.extend(held);
            state.meet(Fault::ClockForward, None);
            state.now
        };
        self.tick(now);
    }

    pub(super) fn note(&self, fact: Fact) {
        self.state().note(fact);
    }

    pub(super) fn violated(&self, what: String) {
        self.state().violations.push(what);
    }
}

impl State {
    pub(super) fn note(&mut self, fact: Fact) {
        self.journal.push(Entry { at: self.now, database: self.database, fact });
    }

    pub(super) const fn now(&self) -> Duration {
        self.now
    }

    pub(super) const fn database(&self) -> Duration {
        self.database
    }

    pub(super) fn meet(&mut self, fault: Fault, worker: Option<Worker>) {
        self.met.insert(fault);
        self.note(Fact::Met(fault, worker));
    }

    /// What the journal tells by other words.
    pub(super) fn meet_quietly(&mut self, fault: Fault) {
        self.met.insert(fault);
    }

    pub(super) fn strike(&mut self, trouble: Trouble) {
        self.troubles.push(trouble);
    }

    /// All faults are over, whether they were met or not.
    pub(super) fn calm_down(&mut self) {
        self.troubles.clear();
        self.traps.clear();
    }

    /// The fault that a call of the store meets.
    pub(super) fn store_fault(&mut self, worker: Worker, call: StoreCall) -> Option<Fault> {
        self.fault(worker, |trouble| {
            trouble.fault.is_of_store() && trouble.call.is_none_or(|other| other == call)
        })
    }

    /// The fault that a call of the publisher meets.
    pub(super) fn broker_fault(&mut self, worker: Worker, topic: &str) -> Option<Fault> {
        self.fault(worker, |trouble| {
            trouble.fault.is_of_broker() && trouble.topic.is_none_or(|other| other == topic)
        })
    }

    fn fault(&mut self, worker: Worker, meets: impl Fn(&Trouble) -> bool) -> Option<Fault> {
        let (now, slot) = (self.now, self.slots.get(&worker).copied());
        let stopping = self.stopping.contains(&worker);
        let trouble = self.troubles.iter_mut().find(|trouble| {
            let here = trouble.slot.is_none() || trouble.slot == slot;
            // Whoever stops calls the store from its main loop, and a panic there is its own.
            let survives = trouble.fault != Fault::StoreCallPanics || !stopping;
            here && survives && trouble.until > now && trouble.times > 0 && meets(trouble)
        })?;
        trouble.times -= 1;
        let fault = trouble.fault;
        self.meet(fault, Some(worker));
        Some(fault)
    }

    pub(super) fn set_trap(&mut self, worker: Worker, trap: Trap) {
        self.traps.insert(worker, trap);
    }

    /// A worker passes a place; says whether it has to stop there.
    pub(super) fn springs(&mut self, worker: Worker, place: Place) -> bool {
        if self.halted.contains_key(&worker) {
            return true;
        }
        let Some(trap) = self.traps.get_mut(&worker).filter(|trap| trap.place == place) else {
            return false;
        };
        trap.passes -= 1;
        if trap.passes > 0 {
            return false;
        }
        let halt = trap.halt;
        self.traps.remove(&worker);
        self.halted.insert(worker, halt);
        let kind = match halt {
            Halt::Freeze(_) => Fault::WorkerFrozen,
            Halt::Kill => Fault::WorkerKilled,
        };
        self.meet(kind, Some(worker));
        self.note(Fact::Halted(worker, halt));
        true
    }

    pub(super) fn halted(&self, worker: Worker) -> Option<Halt> {
        self.halted.get(&worker).copied()
    }

    pub(super) fn thaw(&mut self, worker: Worker) {
        self.halted.remove(&worker);
        self.thawed.insert(worker, self.now);
        self.note(Fact::Thawed(worker));
    }

    pub(super) fn start(&mut self, worker: Worker, slot: usize) {
        self.slots.insert(worker, slot);
        self.note(Fact::Started(worker));
    }

    /// A send begins: its lease must outlast it, as far as its worker can know. What was under way
    /// when a worker stood still goes on at once.
    pub(super) fn check_send(&mut self, send: &Send, limit: Duration) {
        let lane = self.lanes.get(&send.lane).copied();
        let outlasts =
            lane.is_some_and(|lane| lane.epoch == send.epoch && lane.ends >= self.database + limit);
        let excused = self.cut.contains(&send.epoch);
        if !outlasts && excused {
            self.under_cut.insert(send.call);
        }
        if !outlasts && !excused && self.thawed.get(&send.worker) != Some(&self.now) {
            self.violations.push(format!("{send} began under a lease that was over"));
        }
    }

    pub(super) fn next_call(&mut self) -> Call {
        self.calls += 1;
        Call(self.calls)
    }

    /// The number of a token, given when it is first seen.
    pub(super) fn epoch(&mut self, lease: &LaneLease) -> Epoch {
        let next = Epoch(self.epochs.len() + 1);
        *self.epochs.entry(lease.token).or_insert(next)
    }

    pub(super) fn coin(&mut self) -> bool {
        self.rng.bool()
    }

    /// How long a message takes from here to there: mostly no time, sometimes long.
    pub(super) fn draw_delay(&mut self) -> Duration {
        match self.rng.u32(0..20) {
            0 => draw_time(&mut self.rng, millis(20), millis(200)),
            1..=5 => draw_time(&mut self.rng, millis(1), millis(15)),
            _ => Duration::ZERO,
        }
    }

    pub(super) fn draw_time(&mut self, from: Duration, to: Duration) -> Duration {
        draw_time(&mut self.rng, from, to)
    }

    pub(super) fn put_off(&mut self, by: Duration, statement: Late) {
        self.late.push((self.now + by, statement));
    }

    pub(super) fn take_late(&mut self) -> Vec<Late> {
        let now = self.now;
        self.late.extract_if(.., |(at, _)| *at <= now).map(|(_, late)| late).collect()
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("seed", &self.plan.seed).finish_non_exhaustive()
    }
}
