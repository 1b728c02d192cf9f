//! Outcomes as they are bound.

use std::time::Duration;

use outbox_core::{Failure, FailureKind, OutcomeKind};

/// How an attempt ended, as a number in a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i16)]
pub(super) enum Ending {
    Published = 0,
    Failed = 1,
    Dead = 2,
    /// Dead, and later records of its key wait behind it.
    DeadHead = 3,
    Parked = 4,
}

impl Ending {
    pub(super) const fn of(kind: &OutcomeKind) -> Self {
        match kind {
            OutcomeKind::Dead { parks_key: false, .. } => Self::Dead,
            OutcomeKind::Dead { parks_key: true, .. } => Self::DeadHead,
            OutcomeKind::Failed { .. } => Self::Failed,
            OutcomeKind::Parked => Self::Parked,
            OutcomeKind::Published => Self::Published,
        }
    }

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Failed => "failed",
            Self::Dead | Self::DeadHead => "dead",
            Self::Parked => "parked",
        }
    }
}

/// The text that is stored, empty where there is none.
pub(super) fn note(kind: &OutcomeKind) -> String {
    match kind {
        // Cut and cleaned as any stored summary: a database refuses some control characters.
        OutcomeKind::Dead { error, .. } => {
            Failure::new(FailureKind::Message, error).summary().to_owned()
        }
        OutcomeKind::Failed { failure, .. } => failure.summary().to_owned(),
        OutcomeKind::Parked | OutcomeKind::Published => String::new(),
    }
}

/// Why it is dead, empty where it is not.
pub(super) const fn reason(kind: &OutcomeKind) -> &'static str {
    match kind {
        OutcomeKind::Dead { reason, .. } => reason.as_str(),
        OutcomeKind::Failed { .. } | OutcomeKind::Parked | OutcomeKind::Published => "",
    }
}

/// How long until it is due again.
pub(super) const fn delay(kind: &OutcomeKind) -> Duration {
    match kind {
        OutcomeKind::Failed { delay, .. } => *delay,
        OutcomeKind::Dead { .. } | OutcomeKind::Parked | OutcomeKind::Published => Duration::ZERO,
    }
}
