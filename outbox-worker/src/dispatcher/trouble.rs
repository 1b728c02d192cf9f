//! What is said about a destination that fails.

use std::time::Duration;

use tokio::time::Instant;

/// A destination where some sends fail and others succeed is in trouble all the time: it has to
/// work for so long before that is said.
const CALM: Duration = Duration::from_secs(5);

/// The trouble of one destination, from its first failure until it has worked for a while.
#[derive(Debug, Default)]
pub(super) struct Trouble(Option<Since>);

#[derive(Debug)]
struct Since {
    last_failure: Instant,
    paused: bool,
    succeeded: bool,
}

impl Trouble {
    /// A send failed; says whether that is news. A pause is, even where sends failed before.
    pub(super) fn failed(&mut self, now: Instant, paused: bool) -> bool {
        let known = self.0.as_ref().is_some_and(|since| since.paused || !paused);
        let paused = paused || self.0.as_ref().is_some_and(|since| since.paused);
        self.0 = Some(Since { last_failure: now, paused, succeeded: false });
        !known
    }

    /// A send succeeded.
    pub(super) const fn succeeded(&mut self) {
        if let Some(since) = &mut self.0 {
            since.succeeded = true;
        }
    }

    /// Whether it has ended, which is said once.
    pub(super) fn ended(&mut self, now: Instant) -> bool {
        let over = |since: &mut Since| since.succeeded && now - since.last_failure >= CALM;
        self.0.take_if(over).is_some()
    }
}
