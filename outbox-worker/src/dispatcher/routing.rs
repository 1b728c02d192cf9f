//! Lanes with records that this worker cannot send, but another one can.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use outbox_core::Lane;

use super::desk::Desk;
use super::tend::count;

/// Topics that records of a lane go to and that this worker lacks.
type Lacking = BTreeMap<Lane, BTreeSet<Arc<str>>>;

/// Lanes that were given up so that others send what is in them, and of what topics that is.
///
/// They count as this worker's share: asking for others in their place would only bring more of such
/// lanes, and hand these around.
#[derive(Debug, Default)]
pub(super) struct GivenUp(Lacking);

impl GivenUp {
    /// How many there are.
    pub(super) fn count(&self) -> u8 {
        count(self.0.len())
    }

    /// Which they are.
    pub(super) fn lanes(&self) -> Vec<Lane> {
        self.0.keys().copied().collect()
    }

    /// Nobody else took it.
    pub(super) fn take_back(&mut self, lane: Lane) {
        self.0.remove(&lane);
    }
}

impl Desk {
    /// Topics of records in lanes of this worker, or in lanes that were its own, that it lacks.
    pub(super) fn lacks(&self) -> Vec<String> {
        let lacking = self.lacking();
        let topics: BTreeSet<&Arc<str>> =
            lacking.values().chain(self.given_up.0.values()).flatten().collect();
        topics.into_iter().map(ToString::to_string).collect()
    }

    /// Hands over the lanes with records for these topics, which another worker can send to.
    ///
    /// What was given up for a topic that nobody has any longer may come back.
    pub(super) fn give_up_lanes(&mut self, routed: &[String]) {
        let can = |topics: &BTreeSet<Arc<str>>| {
            topics.iter().any(|topic| routed.iter().any(|other| **other == **topic))
        };
        self.given_up.0.retain(|_, topics| can(topics));
        for (lane, topics) in self.lacking().into_iter().filter(|(_, topics)| can(topics)) {
            let Some(window) = self.lanes.get_mut(&lane) else { continue };
            window.closing = true;
            // They would keep others of their topic from being read, whose lanes are to follow.
            self.destinations.forget(lane);
            tracing::info!(lane = lane.number(), ?topics, "lane goes to a worker with its topics");
            self.given_up.0.insert(lane, topics);
        }
    }

    /// By the records that wait behind a breaker: a name that is not in the list of topics may be one
    /// nonetheless, as an ARN is.
    fn lacking(&self) -> Lacking {
        let mut lacking = Lacking::new();
        for held in self.destinations.stuck() {
            let (lane, topic) = (held.reference().lane, &held.record.message.topic);
            let mine = |token| self.lanes.get(&lane).is_some_and(|it| it.lease.token == token);
            if !self.parts.card.routes(topic) && mine(held.token) {
                lacking.entry(lane).or_default().insert(Arc::clone(topic));
            }
        }
        lacking
    }
}
