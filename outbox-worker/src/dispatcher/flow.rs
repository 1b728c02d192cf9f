//! How many calls one destination may have in flight.

use std::time::Duration;

/// A destination whose calls take this long is slow, whether it says so or not.
const SLOW: Duration = Duration::from_secs(1);

/// Learns from throttling what a destination takes: additive increase, multiplicative decrease, as
/// the congestion control of TCP does (RFC 5681).
///
/// Calls that were begun before a decrease tell nothing new, so one burst of throttling is one
/// decrease.
#[derive(Debug)]
pub(super) struct Flow {
    /// Calls that may be in flight at once; a fraction counts towards the next one.
    window: f64,
    most: f64,
    in_flight: usize,
    begun: u64,
    begun_at_decrease: u64,
    /// How long calls took lately.
    call_takes: Duration,
}

/// What throttling means for the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Throttling {
    /// It is known already.
    Known,
    /// Fewer calls are in flight from now on.
    Slower,
    /// A single call was too much: it has to be left alone for a while.
    TooMuch,
}

impl Flow {
    /// At most so many calls, and so many until the destination asks for less.
    pub(super) fn new(most: usize) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "nobody has 2^52 calls in flight")]
        let most = most as f64;
        Self {
            window: most,
            most,
            in_flight: 0,
            begun: 0,
            begun_at_decrease: 0,
            call_takes: Duration::ZERO,
        }
    }

    pub(super) const fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Whether it takes fewer calls than it may have, or long for each.
    pub(super) fn is_slow(&self) -> bool {
        self.window < self.most || self.call_takes > SLOW
    }

    /// Calls that may be in flight at once, one at least.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between one and a number of calls"
    )]
    pub(super) const fn window(&self) -> usize {
        self.window as usize
    }

    pub(super) const fn has_room(&self) -> bool {
        self.in_flight < self.window()
    }

    /// A call begins; its number is named when it ends.
    pub(super) const fn begin(&mut self) -> u64 {
        self.in_flight += 1;
        self.begun += 1;
        self.begun
    }

    /// A call ends that took so long.
    pub(super) fn end(&mut self, took: Duration) {
        self.in_flight -= 1;
        self.call_takes = self.call_takes.mul_f64(0.75) + took.mul_f64(0.25);
    }

    /// A call succeeded: a whole window of them makes room for one more.
    pub(super) fn succeeded(&mut self) {
        self.window = (self.window + 1.0 / self.window).min(self.most);
    }

    /// This call was throttled.
    pub(super) fn throttled(&mut self, call: u64) -> Throttling {
        if call <= self.begun_at_decrease {
            return Throttling::Known;
        }
        self.begun_at_decrease = self.begun;
        if self.window < 2.0 {
            self.window = 1.0;
            return Throttling::TooMuch;
        }
        self.window = (self.window / 2.0).max(1.0);
        Throttling::Slower
    }
}
