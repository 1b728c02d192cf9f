//! When a failed record is tried again.

use std::num::NonZeroU32;
use std::time::Duration;

use outbox_core::{
    DeadReason, ExponentialBackoff, FailedAttempt, FailureKind, RetryPolicy, Verdict,
};

/// Just below one, the largest number that a caller draws.
const HIGHEST: f64 = 1.0 - f64::EPSILON;

fn attempt(attempts: u32, random: f64) -> FailedAttempt {
    FailedAttempt {
        kind: FailureKind::Transient,
        attempts,
        failing_for: Duration::ZERO,
        retry_after: None,
        random,
    }
}

/// Ceilings of 1 s, 2 s, 4 s, then 5 s, without an end.
fn backoff() -> ExponentialBackoff {
    let mut backoff = ExponentialBackoff::default();
    backoff.base = Duration::from_secs(1);
    backoff.cap = Duration::from_secs(5);
    backoff.max_attempts = None;
    backoff
}

fn delay(backoff: &ExponentialBackoff, attempt: FailedAttempt) -> Duration {
    match backoff.decide(attempt) {
        Verdict::RetryAfter(delay) => delay,
        Verdict::Dead(reason) => panic!("dead: {reason}"),
    }
}

#[test]
fn a_delay_is_drawn_between_zero_and_the_ceiling() {
    let backoff = backoff();

    for attempts in 1..10 {
        let ceiling = delay(&backoff, attempt(attempts, 1.0));
        assert_eq!(delay(&backoff, attempt(attempts, 0.0)), Duration::ZERO);
        assert_eq!(delay(&backoff, attempt(attempts, 0.25)), ceiling / 4);
        assert_eq!(delay(&backoff, attempt(attempts, 0.5)), ceiling / 2);
        assert!(delay(&backoff, attempt(attempts, HIGHEST)) <= ceiling);
    }
}

#[test]
fn the_ceiling_doubles_up_to_the_cap() {
    let backoff = backoff();

    let ceilings = [1, 2, 3, 4, 5].map(|attempts| delay(&backoff, attempt(attempts, 1.0)));

    assert_eq!(ceilings, [1, 2, 4, 5, 5].map(Duration::from_secs));
}

#[test]
fn an_attempt_that_was_not_counted_has_the_first_ceiling() {
    assert_eq!(delay(&backoff(), attempt(0, 1.0)), Duration::from_secs(1));
}

#[test]
fn the_highest_number_of_attempts_is_capped_as_well() {
    for attempts in [32, 33, 64, 65, u32::MAX] {
        assert_eq!(delay(&backoff(), attempt(attempts, 1.0)), Duration::from_secs(5));
    }
}

#[test]
fn the_longest_durations_do_not_overflow() {
    let mut backoff = backoff();
    backoff.base = Duration::MAX;
    backoff.cap = Duration::MAX;

    for random in [HIGHEST, 1.0] {
        let delay = delay(&backoff, attempt(u32::MAX, random));

        assert!(delay > Duration::MAX / 2);
    }
}

#[test]
fn a_random_number_out_of_its_range_is_no_longer_delay() {
    for random in [1.5, f64::INFINITY, f64::NAN] {
        assert_eq!(delay(&backoff(), attempt(2, random)), Duration::from_secs(2));
    }
    assert_eq!(delay(&backoff(), attempt(2, -1.0)), Duration::ZERO);
}

#[test]
fn the_broker_is_never_asked_sooner_than_it_wants() {
    let asked = Duration::from_secs(30);
    let attempt = |random| FailedAttempt { retry_after: Some(asked), ..attempt(1, random) };

    assert_eq!(delay(&backoff(), attempt(0.0)), asked);
    assert_eq!(delay(&backoff(), attempt(1.0)), asked);
}

#[test]
fn a_longer_delay_than_the_broker_wants_stays() {
    let retry_after = Some(Duration::from_millis(100));

    let delay = delay(&backoff(), FailedAttempt { retry_after, ..attempt(1, 0.5) });

    assert_eq!(delay, Duration::from_millis(500));
}

#[test]
fn the_last_attempt_is_the_one_that_was_configured() {
    let mut backoff = backoff();
    backoff.max_attempts = NonZeroU32::new(3);

    let verdicts = [2, 3, 4].map(|attempts| backoff.decide(attempt(attempts, 0.0)));

    let dead = Verdict::Dead(DeadReason::AttemptsExhausted);
    assert_eq!(verdicts, [Verdict::RetryAfter(Duration::ZERO), dead, dead]);
}

#[test]
fn a_record_dies_at_the_configured_age() {
    let mut backoff = backoff();
    backoff.max_age = Some(Duration::from_secs(60));
    let failing_for =
        |seconds| FailedAttempt { failing_for: Duration::from_secs(seconds), ..attempt(1, 0.0) };

    let verdicts = [59, 60, 61].map(|seconds| backoff.decide(failing_for(seconds)));

    let dead = Verdict::Dead(DeadReason::Expired);
    assert_eq!(verdicts, [Verdict::RetryAfter(Duration::ZERO), dead, dead]);
}

#[test]
fn a_broker_that_asks_to_wait_does_not_keep_a_record_alive() {
    let mut backoff = backoff();
    backoff.max_attempts = NonZeroU32::new(1);
    let retry_after = Some(Duration::from_secs(1));

    let verdict = backoff.decide(FailedAttempt { retry_after, ..attempt(1, 0.0) });

    assert_eq!(verdict, Verdict::Dead(DeadReason::AttemptsExhausted));
}

#[test]
fn a_message_that_is_at_fault_itself_dies_at_once() {
    let verdict = backoff().decide(FailedAttempt {
        kind: FailureKind::Message,
        retry_after: Some(Duration::from_secs(1)),
        ..attempt(1, 0.0)
    });

    assert_eq!(verdict, Verdict::Dead(DeadReason::Rejected));
}

#[test]
fn every_other_fault_is_tried_again() {
    use FailureKind::{Ambiguous, Credentials, Destination, Throttled, Transient};

    for kind in [Ambiguous, Credentials, Destination, Throttled, Transient] {
        let verdict = backoff().decide(FailedAttempt { kind, ..attempt(u32::MAX, 0.0) });

        assert_eq!(verdict, Verdict::RetryAfter(Duration::ZERO), "{kind}");
    }
}
