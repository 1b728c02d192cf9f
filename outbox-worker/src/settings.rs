//! How a dispatcher behaves.

use std::num::{NonZeroU8, NonZeroU32, NonZeroUsize};
use std::time::Duration;

use outbox_core::{Environment, LeaseTime, SettingsError};
use serde::Deserialize;

/// Times, sizes and limits of one dispatcher.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct DispatcherSettings {
    /// How long a lane stays with a worker that has died. Shorter recovers sooner and renews more
    /// often. Default: 15 s.
    #[serde(with = "humantime_serde")]
    pub lease: Duration,
    /// After how long one call of the publisher is given up as ambiguous. Together with `margin`
    /// it must stay below two thirds of the lease. Default: 8 s.
    #[serde(with = "humantime_serde")]
    pub publish_timeout: Duration,
    /// What must be left of a lease beyond the publish timeout before anything is sent.
    /// Default: 1 s.
    #[serde(with = "humantime_serde")]
    pub margin: Duration,
    /// Calls of the publisher in flight at once. A topic that is throttled gets as many of them as it
    /// takes, and one that is slow leaves some to the others. Default: 32.
    pub concurrency: NonZeroUsize,
    /// Records in one read. Default: 300.
    pub read_records: NonZeroU32,
    /// Bytes in one read. Default: 4 MiB.
    pub read_bytes: u64,
    /// Records held in memory, queued and in flight; no read begins above it. Default: 2000.
    pub held_records: NonZeroUsize,
    /// Bytes held in memory, queued and in flight; no read begins above it. What is in flight counts
    /// twice, once as it is encoded, and is a quarter at most. Default: 24 MiB.
    pub held_bytes: usize,
    /// Reads that may run at once, each over its part of the lanes. Default: 2.
    pub readers: NonZeroU8,
    /// Pause between two reads once nothing was found for a while, and up to a tenth more. Together
    /// with renewals and heartbeats the default makes less than one statement a second. A wake-up
    /// needs no such pause. Default: 2.5 s.
    #[serde(with = "humantime_serde")]
    pub idle_poll: Duration,
    /// How often the outbox is counted for whoever listens to metrics. Default: 30 s.
    #[serde(with = "humantime_serde")]
    pub stats_interval: Duration,
    /// Topics whose ordering keys go on after a dead letter, so that what follows is sent without it.
    /// Keys of the others are parked until somebody has replayed or discarded it. Default: none.
    pub skip_dead: Vec<String>,
    /// How long a shutdown waits for sends that have begun. Then it writes their outcomes, gives the
    /// lanes back and takes its leave, each within `store_timeout`: so all of it takes at most this and
    /// three times `store_timeout`, 25 s by default. Default: 10 s.
    #[serde(with = "humantime_serde")]
    pub drain_timeout: Duration,
    /// After how long one call of the store is given up as unknown. Default: 5 s.
    #[serde(with = "humantime_serde")]
    pub store_timeout: Duration,
}

const DEFAULT_CONCURRENCY: NonZeroUsize = NonZeroUsize::new(32).unwrap();
const DEFAULT_READ_RECORDS: NonZeroU32 = NonZeroU32::new(300).unwrap();
const DEFAULT_HELD_RECORDS: NonZeroUsize = NonZeroUsize::new(2000).unwrap();
const DEFAULT_READERS: NonZeroU8 = NonZeroU8::new(2).unwrap();
/// Beyond it a setting is a slip, and instants could overflow.
const LONGEST: Duration = Duration::from_hours(24);
const MIB: usize = 1024 * 1024;

impl Default for DispatcherSettings {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(15),
            publish_timeout: Duration::from_secs(8),
            margin: Duration::from_secs(1),
            concurrency: DEFAULT_CONCURRENCY,
            read_records: DEFAULT_READ_RECORDS,
            read_bytes: 4 * MIB as u64,
            held_records: DEFAULT_HELD_RECORDS,
            held_bytes: 24 * MIB,
            readers: DEFAULT_READERS,
            idle_poll: Duration::from_millis(2500),
            stats_interval: Duration::from_secs(30),
            skip_dead: Vec::new(),
            drain_timeout: Duration::from_secs(10),
            store_timeout: Duration::from_secs(5),
        }
    }
}

impl DispatcherSettings {
    /// Defaults, overridden by the variables under `prefix` that are present, named as the fields
    /// in capitals: `{prefix}LEASE`, `{prefix}CONCURRENCY` and so on.
    ///
    /// # Errors
    /// [`SettingsError`] naming the variable whose value cannot be used.
    pub fn from_env(prefix: &str) -> Result<Self, SettingsError> {
        Self::from_environment(&Environment::process(prefix))
    }

    /// As [`from_env`](Self::from_env), from a supplied environment.
    ///
    /// # Errors
    /// [`SettingsError`] naming the variable whose value cannot be used.
    pub fn from_environment(env: &Environment) -> Result<Self, SettingsError> {
        let mut settings = Self::default();
        env.duration("LEASE", &mut settings.lease)?;
        env.duration("PUBLISH_TIMEOUT", &mut settings.publish_timeout)?;
        env.duration("MARGIN", &mut settings.margin)?;
        env.duration("IDLE_POLL", &mut settings.idle_poll)?;
        env.duration("STATS_INTERVAL", &mut settings.stats_interval)?;
        env.duration("DRAIN_TIMEOUT", &mut settings.drain_timeout)?;
        env.duration("STORE_TIMEOUT", &mut settings.store_timeout)?;
        env.list("SKIP_DEAD", &mut settings.skip_dead);
        let count = "a number from 1";
        if let Some(calls) = env.parsed("CONCURRENCY", count)? {
            settings.concurrency = calls;
        }
        if let Some(records) = env.parsed("READ_RECORDS", count)? {
            settings.read_records = records;
        }
        if let Some(bytes) = env.parsed("READ_BYTES", "a number of bytes")? {
            settings.read_bytes = bytes;
        }
        if let Some(records) = env.parsed("HELD_RECORDS", count)? {
            settings.held_records = records;
        }
        if let Some(bytes) = env.parsed("HELD_BYTES", "a number of bytes")? {
            settings.held_bytes = bytes;
        }
        if let Some(readers) = env.parsed("READERS", count)? {
            settings.readers = readers;
        }
        settings.check()?;
        Ok(settings)
    }

    /// Refuses times that would let a worker send under a lease that has run out.
    ///
    /// # Errors
    /// [`SettingsError`] naming the setting.
    pub fn check(&self) -> Result<(), SettingsError> {
        if !(Duration::from_millis(100)..=LONGEST).contains(&self.lease) {
            return Err(SettingsError::new("lease", "from 100ms to a day"));
        }
        let waits = [self.publish_timeout, self.margin, self.drain_timeout, self.stats_interval];
        if waits.into_iter().chain([self.idle_poll, self.store_timeout]).any(|w| w > LONGEST) {
            return Err(SettingsError::new("every time of the dispatcher", "at most a day"));
        }
        if self.read_bytes == 0 || self.held_bytes == 0 {
            return Err(SettingsError::new("read_bytes and held_bytes", "above zero"));
        }
        if (self.publish_timeout + self.margin) * 3 >= self.lease * 2 {
            return Err(SettingsError::new(
                "publish_timeout",
                "below two thirds of the lease together with margin",
            ));
        }
        let waits = [self.idle_poll, self.publish_timeout, self.stats_interval, self.store_timeout];
        if waits.into_iter().any(|wait| wait.is_zero()) {
            let which = "idle_poll, publish_timeout, stats_interval and store_timeout";
            return Err(SettingsError::new(which, "above zero"));
        }
        Ok(())
    }

    pub(crate) fn lease_time(&self) -> Result<LeaseTime, SettingsError> {
        LeaseTime::new(self.lease).map_err(|_| SettingsError::new("lease", "at least 100ms"))
    }

    /// What must be left of a lease for a send to begin.
    pub(crate) fn send_reserve(&self) -> Duration {
        self.publish_timeout + self.margin
    }

    /// How often leases are renewed and the worker shows itself.
    pub(crate) fn tend_interval(&self) -> Duration {
        self.lease / 3
    }
}
