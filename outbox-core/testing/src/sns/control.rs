use std::sync::Arc;
use std::time::Duration;

use super::clock::Clock;
use super::gate::Gate;
use super::journal::Journal;
use super::requests::Counter;
use super::script::Script;
use super::topics::Topics;

/// What the test's side and the server's side of a stub share.
#[derive(Debug)]
pub(crate) struct Control {
    pub(crate) clock: Clock,
    /// Where accepted requests wait for the end of a hold.
    pub(crate) held: Arc<Gate>,
    /// Where requests wait that a fault made hang.
    pub(crate) hung: Gate,
    pub(crate) journal: Arc<Journal>,
    pub(crate) requests: Counter,
    pub(crate) script: Script,
    pub(crate) topics: Topics,
}

impl Control {
    pub(crate) fn new(topics: Topics, latency: Duration) -> Self {
        Self {
            clock: Clock::default(),
            held: Arc::default(),
            hung: Gate::default(),
            journal: Arc::default(),
            requests: Counter::default(),
            script: Script::new(latency),
            topics,
        }
    }
}
