//! Whether a dispatcher can do its work.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::metrics::{BreakerState, Measurement, OutboxMetrics};

/// The state of a running dispatcher, to be asked at any time.
#[derive(Debug)]
pub struct Health {
    state: Mutex<State>,
}

/// What a dispatcher can do at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HealthReport {
    /// Lanes under lease at the last round of renewals.
    pub lanes: usize,
    /// Time since that round; since the start if there was none.
    pub renewed: Duration,
    /// What the store fails at: `lease`, `mark`, `read` or `settle`.
    pub failing: Vec<&'static str>,
    /// The breaker that stops everything while credentials fail.
    pub credentials: BreakerState,
    /// Destinations whose breaker is not closed.
    pub breakers: Vec<Breaker>,
}

/// The breaker of one destination.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Breaker {
    /// The topic.
    pub topic: String,
    /// Transport to the topic, if its records name one.
    pub transport: Option<String>,
    /// What passes it.
    pub state: BreakerState,
    /// How long it has not been closed.
    pub since: Duration,
}

impl HealthReport {
    /// Whether nothing keeps it from sending to every topic.
    pub fn is_well(&self) -> bool {
        let closed = self.credentials == BreakerState::Closed;
        closed && self.failing.is_empty() && self.breakers.is_empty()
    }
}

#[derive(Debug)]
struct State {
    lanes: usize,
    renewed_at: Instant,
    failing: BTreeSet<&'static str>,
    credentials: BreakerState,
    breakers: BTreeMap<(String, Option<String>), (BreakerState, Instant)>,
}

impl Health {
    pub(crate) fn new() -> Self {
        let state = State {
            lanes: 0,
            renewed_at: Instant::now(),
            failing: BTreeSet::new(),
            credentials: BreakerState::Closed,
            breakers: BTreeMap::new(),
        };
        Self { state: Mutex::new(state) }
    }

    /// What it can do now.
    pub fn report(&self) -> HealthReport {
        let state = self.lock();
        let breaker = |((topic, transport), (state, since)): (&(String, Option<String>), &_)| {
            let (state, since): (BreakerState, Instant) = (*state, *since);
            let (topic, transport) = (topic.clone(), transport.clone());
            Breaker { topic, transport, state, since: since.elapsed() }
        };
        HealthReport {
            lanes: state.lanes,
            renewed: state.renewed_at.elapsed(),
            failing: state.failing.iter().copied().collect(),
            credentials: state.credentials,
            breakers: state.breakers.iter().map(breaker).collect(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OutboxMetrics for Health {
    fn measure(&self, measurement: &Measurement<'_>) {
        match *measurement {
            Measurement::Holding { lanes, .. } => {
                let mut state = self.lock();
                state.lanes = lanes;
                state.renewed_at = Instant::now();
            }
            Measurement::Store { phase, works: true } => {
                self.lock().failing.remove(phase);
            }
            Measurement::Store { phase, works: false } => {
                self.lock().failing.insert(phase);
            }
            Measurement::Breaker { topic: None, state, .. } => self.lock().credentials = state,
            Measurement::Breaker { topic: Some(topic), transport, state } => {
                let to = (topic.to_owned(), transport.map(str::to_owned));
                self.lock().set(to, state);
            }
            _ => {}
        }
    }
}

impl State {
    fn set(&mut self, to: (String, Option<String>), state: BreakerState) {
        if state == BreakerState::Closed {
            self.breakers.remove(&to);
        } else {
            self.breakers.entry(to).or_insert((state, Instant::now())).0 = state;
        }
    }
}
