//! What is said about a destination that fails.

use std::collections::BTreeMap;
use std::time::Duration;

use outbox_core::FailureKind;
use tokio::time::Instant;

/// A destination where some sends fail and others succeed is in trouble all the time: it has to
/// work for so long before that is said.
const CALM: Duration = Duration::from_secs(5);

/// Failures that mean the same to an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Broken,
    Failing,
    Throttled,
}

#[derive(Debug)]
struct Since {
    last_failure: Instant,
    succeeded: bool,
}

/// The troubles of one destination, each from its first failure until it has not been seen for a
/// while.
#[derive(Debug, Default)]
pub(super) struct Trouble(BTreeMap<Kind, Since>);

impl Trouble {
    /// A send failed; says whether that is news.
    pub(super) fn failed(&mut self, now: Instant, kind: FailureKind) -> bool {
        let kind = match kind {
            FailureKind::Destination => Kind::Broken,
            FailureKind::Throttled => Kind::Throttled,
            _ => Kind::Failing,
        };
        self.0.insert(kind, Since { last_failure: now, succeeded: false }).is_none()
    }

    /// A send succeeded.
    pub(super) fn succeeded(&mut self) {
        self.0.values_mut().for_each(|since| since.succeeded = true);
    }

    /// Whether there is none that was not said to have ended.
    pub(super) fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the last of them has ended, which is said once.
    pub(super) fn ended(&mut self, now: Instant) -> bool {
        let had_any = !self.0.is_empty();
        self.0.retain(|_, since| !since.succeeded || now - since.last_failure < CALM);
        had_any && self.0.is_empty()
    }
}
