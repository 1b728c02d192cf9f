use std::sync::Arc;

use tokio::sync::watch;

/// A place where requests wait until a test lets them go.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: watch::Sender<State>,
}

#[derive(Debug, Default)]
struct State {
    /// How many holds keep the gate shut.
    holds: usize,
    /// Grows with every release: a waiting request goes when it changes.
    release: u64,
    waiting: usize,
}

impl Gate {
    /// Waits if the gate is shut.
    pub(crate) async fn pass(&self) {
        self.wait_if(|state| state.holds > 0).await;
    }

    /// Waits for the next release, shut or not.
    pub(crate) async fn wait(&self) {
        self.wait_if(|_| true).await;
    }

    pub(crate) fn release(&self) {
        self.state.send_modify(State::let_go);
    }

    pub(crate) fn waiting(&self) -> usize {
        self.state.borrow().waiting
    }

    pub(crate) async fn waiting_at_least(&self, requests: usize) {
        let mut state = self.state.subscribe();
        // The wait ends early only with the sender, which `self` owns.
        let _ = state.wait_for(|state| state.waiting >= requests).await;
    }

    async fn wait_if(&self, must_wait: impl FnOnce(&State) -> bool) {
        let mut state = self.state.subscribe();
        if let Some(waiting) = Waiting::enter(self, must_wait) {
            let _ = state.wait_for(|state| state.release != waiting.release).await;
        }
    }
}

impl State {
    fn let_go(&mut self) {
        self.release += 1;
        self.waiting = 0;
    }
}

/// One request's place at the gate; it leaves also when its connection breaks.
struct Waiting<'gate> {
    gate: &'gate Gate,
    release: u64,
}

impl<'gate> Waiting<'gate> {
    fn enter(gate: &'gate Gate, must_wait: impl FnOnce(&State) -> bool) -> Option<Self> {
        let mut entered = None;
        gate.state.send_if_modified(|state| {
            if must_wait(state) {
                state.waiting += 1;
                entered = Some(Self { gate, release: state.release });
            }
            entered.is_some()
        });
        entered
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.gate.state.send_if_modified(|state| {
            // A release has already counted everybody out.
            let counted = state.release == self.release;
            if counted {
                state.waiting -= 1;
            }
            counted
        });
    }
}

/// Keeps the answers to accepted messages back, until released or dropped.
///
/// Messages are accepted and journalled as ever; only their answers wait. With several holds
/// at a time the answers wait for the last of them.
#[derive(Debug)]
#[must_use = "a hold that is dropped holds nothing"]
pub struct Hold {
    gate: Arc<Gate>,
}

impl Hold {
    pub(crate) fn new(gate: Arc<Gate>) -> Self {
        gate.state.send_modify(|state| state.holds += 1);
        Self { gate }
    }

    /// Lets the waiting answers go out.
    pub fn release(self) {
        drop(self);
    }

    /// How many requests were accepted and wait for their answer now.
    pub fn held(&self) -> usize {
        self.gate.waiting()
    }

    /// Waits until at least this many requests are accepted and unanswered at one time.
    ///
    /// Waits for ever if they do not come.
    pub async fn held_at_least(&self, requests: usize) {
        self.gate.waiting_at_least(requests).await;
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.gate.state.send_modify(|state| {
            state.holds -= 1;
            if state.holds == 0 {
                state.let_go();
            }
        });
    }
}
