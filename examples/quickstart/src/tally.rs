//! What arrived, held against what the web API answered.

use std::collections::BTreeSet;
use std::fmt;

use crate::arrivals::Arrival;
use crate::drive::Requests;

/// Counted from what SNS accepted, not from what this program believes.
pub(crate) struct Tally {
    committed: usize,
    rolled_back: usize,
    of_committed: Heard,
    of_rolled_back: Heard,
}

/// What was heard of some requests. Each has a correlation id of its own and stages one event.
struct Heard {
    requests: usize,
    events: usize,
    messages: usize,
}

impl Tally {
    pub(crate) fn of(arrivals: &[Arrival], requests: &Requests) -> Self {
        Self {
            committed: requests.committed.len(),
            rolled_back: requests.rolled_back.len(),
            of_committed: Heard::of(&requests.committed, arrivals),
            of_rolled_back: Heard::of(&requests.rolled_back, arrivals),
        }
    }

    /// Whether every committed request was heard of.
    pub(crate) fn is_complete(&self) -> bool {
        self.of_committed.requests == self.committed
    }

    /// Whether the promise was kept: each committed event arrived, and nothing else did.
    pub(crate) fn is_right(&self) -> bool {
        self.is_complete()
            && self.of_committed.events == self.committed
            && self.of_rolled_back.events == 0
    }
}

impl Heard {
    fn of(requests: &BTreeSet<String>, arrivals: &[Arrival]) -> Self {
        let messages: Vec<&Arrival> =
            arrivals.iter().filter(|arrival| requests.contains(&arrival.correlation_id)).collect();
        let heard: BTreeSet<_> = messages.iter().map(|arrival| &arrival.correlation_id).collect();
        let events: BTreeSet<_> = messages.iter().map(|arrival| &arrival.id).collect();
        Self { requests: heard.len(), events: events.len(), messages: messages.len() }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { committed, rolled_back, of_committed, of_rolled_back } = self;
        let duplicates = of_committed.messages - of_committed.events;
        write!(
            f,
            "delivered {} of {committed} committed events, \
             {} of {rolled_back} rolled back, {duplicates} duplicates",
            of_committed.events, of_rolled_back.events,
        )
    }
}
