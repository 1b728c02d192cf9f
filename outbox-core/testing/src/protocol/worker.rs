//! One worker: what it does with its lanes.

use std::collections::BTreeMap;

use outbox_core::Position;

use super::action::{CallEnding, Refusal};
use super::settle::Effect;
use super::state::{Flight, State};
use super::tables::{Ending, Outcome};
use super::window::{Progress, Window};
use super::{LEASE, Mutant, PUBLISH};

/// What a worker has in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Worker {
    /// The lanes that it believes to hold.
    pub windows: BTreeMap<u8, Window>,
}

impl Worker {
    /// A settlement was answered, outcome by outcome.
    fn take_settled(&mut self, lane: u8, outcomes: &[(Outcome, bool)], effects: &[Effect]) {
        if effects.contains(&Effect::Lost) {
            self.windows.remove(&lane);
        } else if let Some(window) = self.windows.get_mut(&lane) {
            for ((outcome, repeated), effect) in outcomes.iter().zip(effects) {
                window.written(outcome, *repeated, *effect);
            }
        }
    }
}

impl State {
    pub(super) fn lease(&mut self, worker: u8, lanes: u8) -> Result<(), Refusal> {
        let granted = self.tables.lease(worker, lanes, self.now);
        if granted.is_empty() {
            return Err(Refusal::NothingFree);
        }
        for (lane, token) in granted {
            let told = self.tables.acquired(lane, self.now);
            let window = Window::new(token, self.now + LEASE, told, self.tables.mutant);
            self.worker(worker)?.windows.insert(lane, window);
        }
        Ok(())
    }

    pub(super) fn renew(&mut self, worker: u8) -> Result<(), Refusal> {
        let mut windows = std::mem::take(&mut self.worker(worker)?.windows);
        if windows.is_empty() {
            return Err(Refusal::NotHeld);
        }
        windows.retain(|lane, window| self.tables.renew(*lane, window.token, self.now));
        for (lane, window) in &mut windows {
            window.deadline = self.now + LEASE;
            window.take_told(self.tables.acquired(*lane, self.now));
        }
        self.worker(worker)?.windows = windows;
        Ok(())
    }

    pub(super) fn release(&mut self, worker: u8, lane: u8) -> Result<(), Refusal> {
        let window = self.window(worker, lane)?;
        if window.is_busy() {
            return Err(Refusal::Busy);
        }
        let token = window.token;
        self.tables.release(lane, token, self.now);
        self.worker(worker)?.windows.remove(&lane);
        Ok(())
    }

    pub(super) fn begin_read(&mut self, worker: u8, lane: u8) -> Result<(), Refusal> {
        let now = self.now;
        let window = self.window(worker, lane)?;
        if window.reading.is_some() {
            return Err(Refusal::Busy);
        }
        if window.deadline <= now {
            return Err(Refusal::LeaseTooShort);
        }
        let (floor, known) = (window.floor, window.left_out());
        let rows = self.tables.read(lane, floor, &known, now);
        let mark = self.tables.mark();
        self.window(worker, lane)?.begin_read(rows, mark);
        Ok(())
    }

    pub(super) fn end_read(&mut self, worker: u8, lane: u8) -> Result<(), Refusal> {
        let window = self.window(worker, lane)?;
        let reading = window.reading.take().ok_or(Refusal::Nothing)?;
        window.end_read(reading);
        Ok(())
    }

    pub(super) fn send(&mut self, worker: u8, lane: u8, position: Position) -> Result<(), Refusal> {
        let now = self.now;
        let blind = self.tables.is(Mutant::NoSendCheck);
        let window = self.window(worker, lane)?;
        if !window.is_next(position) {
            return Err(Refusal::NotItsTurn);
        }
        // The lease must outlive the send, and not only last until it begins.
        if window.deadline <= now + PUBLISH && !blind {
            return Err(Refusal::LeaseTooShort);
        }
        let token = window.token;
        let revision = window.known.get(&position).map_or(0, |known| known.row.revision);
        window.send(position);
        if self.tables.is(Mutant::SettleBeforeSend) {
            let ending = Ending::Published;
            self.tables.settle(&Outcome { lane, position, token, revision, ending }, now);
        }
        self.wire.insert(Flight { worker, lane, position, token, revision, until: now + PUBLISH });
        Ok(())
    }

    pub(super) fn settle(
        &mut self,
        worker: u8,
        lane: u8,
        ending: CallEnding,
    ) -> Result<(), Refusal> {
        let outcomes = self.window(worker, lane)?.outcomes(lane);
        if outcomes.is_empty() {
            return Err(Refusal::Nothing);
        }
        if ending == CallEnding::Delayed {
            self.late.extend(outcomes.iter().map(|(outcome, _)| *outcome));
            self.window(worker, lane)?.doubt_outcomes();
            return Ok(());
        }
        let now = self.now;
        let effects: Vec<Effect> =
            outcomes.iter().map(|(outcome, _)| self.tables.settle(outcome, now)).collect();
        let stamp = self.tables.stamp();
        if ending == CallEnding::AnswerLost {
            self.window(worker, lane)?.doubt_outcomes();
            return Ok(());
        }
        let worker = self.worker(worker)?;
        if let Some(number) = stamp {
            worker.windows.values_mut().for_each(|window| window.stamp(number));
        }
        worker.take_settled(lane, &outcomes, &effects);
        Ok(())
    }

    pub(super) fn give_up(&mut self, worker: u8, lane: u8) -> Result<(), Refusal> {
        let window = self.window(worker, lane)?;
        let doubted = |progress| matches!(progress, Progress::Unwritten { repeated: true, .. });
        if !window.known.values().any(|known| doubted(known.progress)) {
            return Err(Refusal::Nothing);
        }
        self.worker(worker)?.windows.remove(&lane);
        Ok(())
    }

    pub(super) fn crash(&mut self, worker: u8) -> Result<(), Refusal> {
        let windows = std::mem::take(&mut self.worker(worker)?.windows);
        if windows.is_empty() { Err(Refusal::NotHeld) } else { Ok(()) }
    }

    pub(super) fn drain(&mut self, worker: u8) -> Result<(), Refusal> {
        let windows = std::mem::take(&mut self.worker(worker)?.windows);
        for (lane, window) in &windows {
            self.tables.release(*lane, window.token, self.now);
        }
        if windows.is_empty() { Err(Refusal::NotHeld) } else { Ok(()) }
    }

    fn worker(&mut self, worker: u8) -> Result<&mut Worker, Refusal> {
        self.workers.get_mut(usize::from(worker)).ok_or(Refusal::NotHeld)
    }

    pub(super) fn window(&mut self, worker: u8, lane: u8) -> Result<&mut Window, Refusal> {
        self.worker(worker)?.windows.get_mut(&lane).ok_or(Refusal::NotHeld)
    }
}
