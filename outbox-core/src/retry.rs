//! When to try again: pure, without clock and without I/O.

use std::fmt::Debug;
use std::num::NonZeroU32;
use std::time::Duration;

use crate::failure::FailureKind;
use crate::outcome::DeadReason;
use crate::settings::{Environment, SettingsError};

/// What a retry policy decides from.
#[derive(Clone, Copy, Debug)]
pub struct FailedAttempt {
    /// Who is at fault.
    pub kind: FailureKind,
    /// How many attempts failed, this one included.
    pub attempts: u32,
    /// Time since the first recorded failure.
    pub failing_for: Duration,
    /// How long the broker asks to wait.
    pub retry_after: Option<Duration>,
    /// A number from 0 to below 1, drawn by the caller, for jitter.
    pub random: f64,
}

/// A retry policy's decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Give up.
    Dead(DeadReason),
    /// Try again after this long.
    RetryAfter(Duration),
}

/// Decides what follows a failed attempt.
///
/// It returns a duration and never an instant: the store applies it to the database's clock, so a
/// worker with a wrong clock can neither hurry nor delay a record.
pub trait RetryPolicy: Debug + Send + Sync {
    /// What to do after this failure.
    fn decide(&self, attempt: FailedAttempt) -> Verdict;
}

/// Exponential back-off with full jitter.
///
/// After the n-th failure the delay is drawn evenly between zero and `base` · 2ⁿ⁻¹, capped at
/// `cap`, and is never less than what the broker asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExponentialBackoff {
    /// Ceiling of the first delay. Default: 500 ms.
    pub base: Duration,
    /// Ceiling of every delay. Default: 5 min.
    pub cap: Duration,
    /// Failures after which a record is dead; `None` never gives up by count. Default: 20.
    pub max_attempts: Option<NonZeroU32>,
    /// Time since the first failure after which a record is dead. Default: none.
    pub max_age: Option<Duration>,
}

impl Default for ExponentialBackoff {
    fn default() -> Self {
        Self {
            base: Duration::from_millis(500),
            cap: Duration::from_secs(300),
            max_attempts: NonZeroU32::new(20),
            max_age: None,
        }
    }
}

impl ExponentialBackoff {
    /// Defaults, overridden by `{prefix}BASE`, `CAP`, `MAX_ATTEMPTS` and `MAX_AGE` where present.
    ///
    /// # Errors
    /// [`SettingsError`] naming the variable that does not parse.
    pub fn from_env(prefix: &str) -> Result<Self, SettingsError> {
        Self::from_environment(&Environment::process(prefix))
    }

    /// As [`from_env`](Self::from_env), from a supplied environment.
    ///
    /// # Errors
    /// [`SettingsError`] naming the variable that does not parse.
    pub fn from_environment(env: &Environment) -> Result<Self, SettingsError> {
        let mut settings = Self::default();
        env.duration("BASE", &mut settings.base)?;
        env.duration("CAP", &mut settings.cap)?;
        if let Some(attempts) = env.parsed::<NonZeroU32>("MAX_ATTEMPTS", "a number from 1")? {
            settings.max_attempts = Some(attempts);
        }
        let mut age = Duration::ZERO;
        if env.duration("MAX_AGE", &mut age)? {
            settings.max_age = Some(age);
        }
        Ok(settings)
    }

    fn ceiling(&self, attempts: u32) -> Duration {
        let doublings = attempts.saturating_sub(1).min(63);
        let factor = 2_u32.saturating_pow(doublings);
        self.base.saturating_mul(factor).min(self.cap)
    }
}

impl RetryPolicy for ExponentialBackoff {
    fn decide(&self, attempt: FailedAttempt) -> Verdict {
        if attempt.kind == FailureKind::Message {
            return Verdict::Dead(DeadReason::Rejected);
        }
        if self.max_age.is_some_and(|age| attempt.failing_for >= age) {
            return Verdict::Dead(DeadReason::Expired);
        }
        if self.max_attempts.is_some_and(|most| attempt.attempts >= most.get()) {
            return Verdict::Dead(DeadReason::AttemptsExhausted);
        }
        let ceiling = self.ceiling(attempt.attempts);
        let drawn = ceiling.as_secs_f64() * attempt.random.clamp(0.0, 1.0);
        // The longest durations round up to more than a duration holds, and NaN is no number.
        let drawn = Duration::try_from_secs_f64(drawn).unwrap_or(ceiling);
        Verdict::RetryAfter(drawn.max(attempt.retry_after.unwrap_or_default()))
    }
}
