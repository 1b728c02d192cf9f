//! Ways to a broker.
//!
//! [`LogPublisher`] only says what it would send, [`Router`] chooses among several publishers, and
//! the `sns` module (feature `sns`) sends to AWS SNS.

mod log;
mod router;
#[cfg(feature = "sns")]
pub mod sns;

pub use log::LogPublisher;
pub use router::Router;

use outbox_core::{Failure, FailureKind, PublishOutcomes};

/// As many verdicts as there are messages.
///
/// A publisher that breaks its contract must not shift verdicts to other messages, and whoever
/// heard nothing of a message must assume that it may be out.
pub(crate) fn one_verdict_each(mut outcomes: PublishOutcomes, messages: usize) -> PublishOutcomes {
    outcomes.resize_with(messages, || {
        Err(Failure::new(FailureKind::Ambiguous, "the publisher gave no verdict"))
    });
    outcomes
}
