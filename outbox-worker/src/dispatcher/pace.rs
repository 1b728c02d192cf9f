//! When to read next.

use std::time::Duration;

use tokio::time::Instant;

/// Pause after the first empty read.
const SHORTEST: Duration = Duration::from_millis(5);

/// Reads at once while there is work, and ever more slowly while there is none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    delay: Duration,
    longest: Duration,
    next: Instant,
    /// When something is known to become due, whatever was found until then.
    due: Option<Instant>,
}

impl Pace {
    pub(super) fn new(longest: Duration) -> Self {
        Self { delay: Duration::ZERO, longest, next: Instant::now(), due: None }
    }

    /// A read begins, which finds what is due by now.
    pub(super) fn begin(&mut self, now: Instant) {
        self.due = self.due.filter(|due| *due > now);
    }

    /// Something was found: there may be more.
    pub(super) fn found(&mut self) {
        self.delay = Duration::ZERO;
        self.next = Instant::now();
    }

    /// Nothing was found.
    pub(super) fn found_nothing(&mut self) {
        self.delay = (self.delay * 2).clamp(SHORTEST.min(self.longest), self.longest);
        // Jitter of a tenth keeps workers from polling in step.
        let pause = self.delay.mul_f64(1.0 + fastrand::f64() / 10.0);
        self.next = Instant::now() + pause;
    }

    /// Memory is full, which is no idleness.
    pub(super) fn wait_for_room(&mut self) {
        self.next = Instant::now() + SHORTEST;
    }

    /// Something will be due at this instant.
    pub(super) fn due_at(&mut self, instant: Instant) {
        self.due = Some(self.due.map_or(instant, |due| due.min(instant)));
    }

    pub(super) fn next(&self) -> Instant {
        self.due.map_or(self.next, |due| due.min(self.next))
    }

    /// Whether reads follow each other closely.
    pub(super) fn is_busy(&self) -> bool {
        self.delay < Duration::from_millis(100)
    }
}
