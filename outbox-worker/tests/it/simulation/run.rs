//! One run: the application, the processes and the faults, step by step until all is quiet.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use outbox_core::{OutboxStore, RecordRef};
use outbox_testing::{MemoryStore, MemoryTransaction};

use super::claimant::Claimant;
use super::fault::{Fault, Halt};
use super::journal::{Event, Fact, Worker};
use super::plan::{Plan, Step, draw_time, millis};
use super::process::Process;
use super::verdict::Verdict;
use super::world::World;

/// How long a run may take to become quiet once all faults are over. A breaker stays shut for 30 s
/// at most.
const PATIENCE: Duration = Duration::from_mins(2);

pub(super) struct Run {
    pub(super) world: Arc<World>,
    pub(super) store: MemoryStore,
    /// What the workers get for it: itself, or one with a mistake.
    served: Arc<dyn OutboxStore>,
    slots: Vec<Slot>,
    transactions: BTreeMap<usize, Transaction>,
    /// Where the events are that were committed.
    pub(super) records: BTreeMap<Event, RecordRef>,
    claimant: Claimant,
    now: Duration,
    next_step: usize,
    started: usize,
    ending: bool,
    rng: Rng,
}

type Transaction = (MemoryTransaction, Vec<Event>);

/// A place for one process after another.
enum Slot {
    /// Until it is started anew.
    Down(Duration),
    /// Until it goes on.
    Frozen(Process, Duration),
    Running(Process),
}

/// Runs a seed and judges it.
pub(super) fn run(seed: u64, serve: impl FnOnce(MemoryStore) -> Arc<dyn OutboxStore>) -> Verdict {
    // The dispatcher draws from the thread's.
    fastrand::seed(seed);
    let mut run = Run::new(seed, serve);
    while run.now < run.world.plan.calm_from {
        run.turn();
    }
    run.world.state().calm_down();
    run.until("an empty outbox", Run::is_quiet);
    run.ending = true;
    run.until("an end of all workers", Run::is_down);
    Verdict::on(&run)
}

impl Run {
    fn new(seed: u64, serve: impl FnOnce(MemoryStore) -> Arc<dyn OutboxStore>) -> Self {
        let world = Arc::new(World::new(Plan::draw(seed)));
        let store = MemoryStore::with_commit_order(&world.clock, world.plan.commits);
        Self {
            served: serve(store.clone()),
            slots: (0..world.plan.workers).map(|_| Slot::Down(Duration::MAX)).collect(),
            transactions: BTreeMap::new(),
            records: BTreeMap::new(),
            claimant: Claimant::default(),
            now: Duration::ZERO,
            next_step: 0,
            started: 0,
            ending: false,
            rng: Rng::with_seed(seed.wrapping_add(2 << 32)),
            store,
            world,
        }
    }

    /// What is due happens, then each process runs for a slice of time, one after another.
    ///
    /// A slice is shorter than the margin of the send check: as much as processes on busy machines
    /// are late.
    fn turn(&mut self) {
        self.world.tick(self.now);
        self.take_steps();
        self.claimant.end_claims(&self.world, &self.store, self.now);
        let late = self.world.state().take_late();
        for statement in late {
            statement();
        }
        let slice = self.now + draw_time(&mut self.rng, millis(5), millis(400));
        let next = self.world.plan.steps.get(self.next_step).map(|(at, _)| *at);
        let until = next.map_or(slice, |at| at.min(slice));
        for slot in 0..self.slots.len() {
            self.run_slot(slot, until);
        }
        self.now = until;
    }

    fn until(&mut self, what: &str, condition: impl Fn(&Self) -> bool) {
        let patience = self.now + PATIENCE;
        while !condition(self) {
            if self.now >= patience {
                return self.world.violated(format!("waited for {PATIENCE:?} in vain for {what}"));
            }
            self.turn();
        }
    }

    fn is_quiet(&self) -> bool {
        let frozen = self.slots.iter().any(|slot| matches!(slot, Slot::Frozen(..)));
        !frozen
            && self.next_step == self.world.plan.steps.len()
            && self.claimant.is_idle()
            && self.world.state().late.is_empty()
            && self.store.pending().is_empty()
    }

    fn is_down(&self) -> bool {
        self.slots.iter().all(|slot| matches!(slot, Slot::Down(_)))
    }

    fn take_steps(&mut self) {
        while let Some((at, step)) = self.world.plan.steps.get(self.next_step).cloned()
            && at <= self.now
        {
            self.next_step += 1;
            self.take_step(step);
        }
    }

    fn take_step(&mut self, step: Step) {
        match step {
            Step::Claim(event, end, time) => {
                let record = self.records[&event];
                self.claimant.claim(&self.world, &self.store, (event, record), (end, time));
            }
            Step::Commit { transaction } => self.commit(transaction),
            Step::Drain { slot } => {
                if let Slot::Running(process) = &mut self.slots[slot] {
                    self.world.state().meet(Fault::WorkerDrained, Some(process.worker));
                    process.stop(self.now);
                }
            }
            Step::RollBack { transaction } => {
                let (_, events) = self.transactions.remove(&transaction).unwrap();
                for event in events {
                    self.world.note(Fact::RolledBack(event));
                }
            }
            Step::Stage { transaction, event } => {
                let begin = || (self.store.begin(), Vec::new());
                let (open, events) = self.transactions.entry(transaction).or_insert_with(begin);
                open.stage(self.world.plan.staged(event));
                events.push(event);
                self.world.note(Fact::Staged(event));
            }
            Step::Start { slot } => self.slots[slot] = Slot::Down(self.now),
            Step::ForwardClock(by) => self.world.step_clock(by),
            Step::Strike(trouble) => self.world.state().strike(trouble),
            Step::Trap { slot, trap } => {
                if let Slot::Running(process) = &self.slots[slot] {
                    self.world.state().set_trap(process.worker, trap);
                }
            }
        }
    }

    fn commit(&mut self, transaction: usize) {
        let (open, events) = self.transactions.remove(&transaction).unwrap();
        for (event, record) in events.into_iter().zip(open.commit()) {
            self.world.note(Fact::Committed(event));
            if self.world.plan.event(event).is_damaged {
                self.store.damage(record, "no number");
            }
            self.records.insert(event, record);
        }
    }

    fn run_slot(&mut self, slot: usize, until: Duration) {
        let nobody = Slot::Down(Duration::MAX);
        let next = match std::mem::replace(&mut self.slots[slot], nobody) {
            Slot::Down(at) if at <= self.now && !self.ending => {
                let process = self.start(slot);
                self.run_process(process, until)
            }
            Slot::Frozen(mut process, at) if at <= self.now => {
                process.thaw(self.now);
                self.run_process(process, until)
            }
            Slot::Running(process) => self.run_process(process, until),
            other => other,
        };
        self.slots[slot] = next;
    }

    fn start(&mut self, slot: usize) -> Process {
        self.started += 1;
        let worker = Worker(self.started);
        self.world.tick(self.now);
        self.world.state().start(worker, slot);
        Process::start(&self.world, Arc::clone(&self.served), worker, self.now)
    }

    fn run_process(&mut self, mut process: Process, until: Duration) -> Slot {
        if self.ending {
            process.stop(self.now);
        }
        let halt = process.run_until(until);
        let restart = until + draw_time(&mut self.rng, millis(10), millis(4000));
        let worker = process.worker;
        match halt {
            Some(Halt::Kill) => {
                process.kill();
                return Slot::Down(restart);
            }
            Some(Halt::Freeze(time)) => return Slot::Frozen(process, self.now + time),
            None => {}
        }
        if process.has_ended() {
            if process.has_panicked() {
                self.world.violated(format!("{worker} panicked"));
            }
            return Slot::Down(restart);
        }
        let stops = std::mem::take(&mut self.world.state().stops);
        if stops.contains(&worker) {
            process.stop(until);
        }
        if process.is_overdue(until) {
            self.world.violated(format!("{worker} does not stop within its bound"));
            process.kill();
            return Slot::Down(restart);
        }
        Slot::Running(process)
    }
}
