use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::fault::Fault;

/// What the coming publish requests meet.
#[derive(Debug)]
pub(crate) struct Script {
    plan: Mutex<Plan>,
}

#[derive(Debug)]
struct Plan {
    latency: Duration,
    any_topic: VecDeque<Fault>,
    by_topic: HashMap<String, VecDeque<Fault>>,
    otherwise: Fault,
}

impl Script {
    pub(crate) fn new(latency: Duration) -> Self {
        Self {
            plan: Mutex::new(Plan {
                latency,
                any_topic: VecDeque::new(),
                by_topic: HashMap::new(),
                otherwise: Fault::Pass,
            }),
        }
    }

    pub(crate) fn add(&self, faults: impl IntoIterator<Item = Fault>) {
        // Collected first: the caller's iterator must not run under the lock.
        let faults: Vec<Fault> = faults.into_iter().collect();
        self.plan().any_topic.extend(faults);
    }

    pub(crate) fn add_for(&self, topic_arn: &str, faults: impl IntoIterator<Item = Fault>) {
        let faults: Vec<Fault> = faults.into_iter().collect();
        self.plan().by_topic.entry(topic_arn.to_owned()).or_default().extend(faults);
    }

    pub(crate) fn otherwise(&self, fault: Fault) {
        self.plan().otherwise = fault;
    }

    pub(crate) fn clear(&self) {
        let mut plan = self.plan();
        plan.any_topic.clear();
        plan.by_topic.clear();
        plan.otherwise = Fault::Pass;
    }

    pub(crate) fn set_latency(&self, latency: Duration) {
        self.plan().latency = latency;
    }

    pub(crate) fn latency(&self) -> Duration {
        self.plan().latency
    }

    pub(crate) fn left(&self) -> usize {
        let plan = self.plan();
        plan.any_topic.len() + plan.by_topic.values().map(VecDeque::len).sum::<usize>()
    }

    /// Takes the fault for the next request: the topic's own first, then anybody's.
    pub(crate) fn next(&self, topic_arn: &str) -> Fault {
        let mut plan = self.plan();
        plan.by_topic
            .get_mut(topic_arn)
            .and_then(VecDeque::pop_front)
            .or_else(|| plan.any_topic.pop_front())
            .unwrap_or_else(|| plan.otherwise.clone())
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
