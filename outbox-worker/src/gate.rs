//! Pauses a destination that fails, and lets one record probe it.

use std::time::Duration;

use tokio::time::Instant;

use crate::metrics::BreakerState;

/// How long a gate stays shut: doubling from `first` to `longest`, with jitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pause {
    pub(crate) first: Duration,
    pub(crate) longest: Duration,
}

impl Pause {
    /// A broker that asks for less is asked again soon.
    pub(crate) const THROTTLED: Self =
        Self { first: Duration::from_millis(100), longest: Duration::from_secs(5) };
    /// A missing topic or permission needs a person.
    pub(crate) const BROKEN: Self =
        Self { first: Duration::from_secs(1), longest: Duration::from_secs(30) };

    /// A destination that is out of reach comes back by itself.
    pub(crate) const AWAY: Self =
        Self { first: Duration::from_millis(500), longest: Duration::from_secs(20) };

    /// The most that a broker may ask for: a slip of its must not stop a topic for good, and an instant
    /// has an end.
    pub(crate) const LONGEST_ASKED: Duration = Duration::from_mins(15);

    fn after(self, failures: u32) -> Duration {
        let doubled = self.first.saturating_mul(2_u32.saturating_pow(failures.min(16)));
        // Between half and all of it, so that many workers do not probe at one instant.
        doubled.min(self.longest).mul_f64(0.5 + fastrand::f64() / 2.0)
    }
}

/// What passes a gate now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    /// Everything.
    Open,
    /// One record, to find out whether the destination has recovered.
    Probe,
    /// Nothing.
    Shut,
}

/// A breaker: closed while sends succeed, half-open for one real record after a pause.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    failures: u32,
    shut_until: Option<Instant>,
    pause: Option<Pause>,
    probing: bool,
}

impl Gate {
    /// What passes at this instant.
    pub(crate) fn passage(&self, now: Instant) -> Passage {
        match self.shut_until {
            None => Passage::Open,
            Some(until) if until <= now && !self.probing => Passage::Probe,
            Some(_) => Passage::Shut,
        }
    }

    /// What it is, as an operator is told.
    pub(crate) const fn state(&self) -> BreakerState {
        match (self.shut_until, self.probing) {
            (None, _) => BreakerState::Closed,
            (Some(_), true) => BreakerState::HalfOpen,
            (Some(_), false) => BreakerState::Open,
        }
    }

    /// Whether it was shut and nothing has succeeded since.
    pub(crate) const fn is_shut(&self) -> bool {
        self.shut_until.is_some()
    }

    /// Whether it is shut until a person has repaired something.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_shut() && self.pause == Some(Pause::BROKEN)
    }

    /// Whether it is shut because the destination is out of reach.
    pub(crate) fn is_away(&self) -> bool {
        self.is_shut() && self.pause == Some(Pause::AWAY)
    }

    /// Whether a record is under way that probes.
    pub(crate) const fn is_probing(&self) -> bool {
        self.probing
    }

    /// When a record may probe, if the gate is shut until then.
    pub(crate) fn opens_at(&self) -> Option<Instant> {
        self.shut_until.filter(|_| !self.probing)
    }

    /// A record was let through to probe.
    pub(crate) const fn probe(&mut self) {
        self.probing = true;
    }

    /// Shuts the gate, longer each time, at least for what the broker asks.
    pub(crate) fn shut(&mut self, now: Instant, pause: Pause, at_least: Option<Duration>) {
        let shut = self.shut_until.is_some_and(|until| until > now) && !self.probing;
        if shut {
            // Sends that were under way when the gate shut fail one after another; only the first
            // of them is news.
            return;
        }
        let asked = at_least.unwrap_or_default().min(Pause::LONGEST_ASKED);
        let pause_for = pause.after(self.failures).max(asked);
        self.pause = Some(pause);
        self.failures = self.failures.saturating_add(1);
        self.shut_until = Some(now + pause_for);
        self.probing = false;
    }

    /// A send succeeded.
    pub(crate) const fn open(&mut self) {
        self.failures = 0;
        self.probing = false;
        self.shut_until = None;
    }

    /// The probe ended without saying anything about the destination.
    pub(crate) const fn probe_again(&mut self) {
        self.probing = false;
    }
}
